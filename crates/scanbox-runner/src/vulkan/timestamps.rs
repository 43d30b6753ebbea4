//! Timestamp queries.

use std::sync::Arc;

use ash::vk;

use super::device::Gpu;
use super::failed;
use crate::backend::{Failure, TickInterval};

/// Timestamp queries, as many as one submission needs.
pub(super) struct Timestamps {
    gpu: Arc<Gpu>,
    pool: vk::QueryPool,
    count: u32,
}

impl Timestamps {
    /// `count` queries, at least one.
    pub fn new(gpu: &Arc<Gpu>, count: u32) -> Result<Self, Failure> {
        let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(count);
        // SAFETY: the device is valid, and the count is not zero.
        let pool = unsafe { gpu.raw.create_query_pool(&info, None) }
            .map_err(|result| failed("vkCreateQueryPool", result))?;
        Ok(Self { gpu: Arc::clone(gpu), pool, count })
    }

    /// Sees to `count` queries.
    pub fn reserve(&mut self, count: u32) -> Result<(), Failure> {
        if self.count < count {
            *self = Self::new(&self.gpu, count.next_power_of_two())?;
        }
        Ok(())
    }

    pub fn pool(&self) -> vk::QueryPool {
        self.pool
    }

    /// The first `count` results as pairs, exactly as the device wrote them.
    pub fn intervals(&self, count: u32) -> Result<Vec<TickInterval>, Failure> {
        let mut ticks = vec![0_u64; count as usize];
        let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
        // SAFETY: the queries were written by a submission that is done; one 64-bit word is asked for each.
        unsafe { self.gpu.raw.get_query_pool_results(self.pool, 0, &mut ticks, flags) }
            .map_err(|result| failed("vkGetQueryPoolResults", result))?;
        Ok(ticks.chunks_exact(2).map(|pair| TickInterval { begin: pair[0], end: pair[1] }).collect())
    }
}

impl Drop for Timestamps {
    fn drop(&mut self) {
        // SAFETY: no submitted work uses the queries: every submission is waited for, and a session that gave up
        // waiting never drops them.
        unsafe { self.gpu.raw.destroy_query_pool(self.pool, None) };
    }
}
