//! The passes of the families that go level by level: reduce-then-scan and scan-then-propagate.
//!
//! Passes go up through the levels (`levels`), over the last one, and down again; what is scanned of a level above
//! the first stands in its place, inclusively. Each pass depends on the one before, so no workgroup waits for another
//! one: Vulkan promises nothing that these families need.

use scanbox_model::config::{BlockScan, Config, Family, Kernel, LoadLayout, SubgroupScan};
use scanbox_model::problem::{Mode, Placement, Problem};

use super::constants::{initial_words, word};
use super::levels::{lengths, offsets};
use super::resolve::Resolved;
use super::shader::shader;
use crate::plan::{Binding, Pass, Scratch, ScratchContent, Shader, Tickets};

/// The passes of a call, and the scratch memory that they need. The config is legal.
pub(super) fn passes(of: &Resolved<'_>) -> (Vec<Pass>, Scratch) {
    let Resolved { config, problem, .. } = of;
    let lengths = lengths(config, of.n);
    let offsets = offsets(problem, &lengths);
    let levels = Levels { of, config, problem, lengths: &lengths, offsets: &offsets };
    let last = lengths.len() - 1;
    let [up, down] = match config.kernel.family {
        Family::ScanThenPropagate => [Levels::scan_tiles, Levels::propagate],
        _ => [Levels::reduce_tiles, Levels::downsweep_tiles],
    };
    let mut passes: Vec<Pass> = (0..last).map(|level| up(&levels, level)).collect();
    passes.push(levels.last_level(last));
    if problem.mode() != Mode::Reduce {
        passes.extend((0..last).rev().map(|level| down(&levels, level)));
    }
    let bytes = offsets.last().copied().unwrap_or(0);
    let content = if bytes == 0 { ScratchContent::None } else { ScratchContent::Overwritten };
    (passes, Scratch { bytes, content, ..Scratch::NONE })
}

/// The levels of one call.
struct Levels<'a> {
    of: &'a Resolved<'a>,
    config: &'a Config,
    problem: &'a Problem,
    lengths: &'a [u64],
    offsets: &'a [u64],
}

impl Levels<'_> {
    /// What a pass reads of a level before anything is written there.
    fn source(&self, level: usize) -> Binding {
        match (level, self.problem.placement()) {
            (0, Placement::OutOfPlace) => Binding::Input,
            (0, Placement::InPlace) => Binding::Output,
            _ => self.totals(level),
        }
    }

    /// Where the scan of a level is written.
    fn target(&self, level: usize) -> Binding {
        if level == 0 { Binding::Output } else { self.totals(level) }
    }

    fn totals(&self, level: usize) -> Binding {
        Binding::Scratch(self.offsets[level - 1])
    }

    /// What is computed of a level: the totals of a scan of any mode are scanned inclusively, in their place.
    fn problem(&self, level: usize) -> Problem {
        if level == 0 { *self.problem } else { self.problem.of_totals() }
    }

    fn shader(&self, root: &'static str, config: &Config, problem: &Problem) -> Shader {
        Shader { root, ..shader(&Resolved::new(config, problem, self.of.n, self.of.device)) }
    }

    /// The config of a pass whose elements need nothing of each other but a total: subgroup operations on rows, so
    /// that nothing has to be exchanged through shared memory. Operators that do not commute are combined row by row
    /// there.
    fn by_rows(&self) -> Config {
        let kernel = Kernel {
            block_scan: BlockScan::Subgroup,
            subgroup_scan: SubgroupScan::Operation,
            load_layout: LoadLayout::Striped,
            ..self.config.kernel
        };
        Config { kernel, ..*self.config }
    }

    fn pass(&self, level: usize, shader: Shader, bindings: Vec<Binding>) -> Pass {
        Pass {
            shader,
            bindings,
            words: vec![word(self.lengths[level])],
            workgroups: self.config.tiles(self.lengths[level]),
            tickets: Tickets::None,
            co_resident: false,
        }
    }

    /// Adds up the tiles of a level: the next one.
    fn reduce_tiles(&self, level: usize) -> Pass {
        // One shader for all levels and modes, in place or not.
        let shader = self.shader("reduce_tiles.comp", &self.by_rows(), &self.problem.of_totals());
        let source = self.source(level);
        self.pass(level, shader, vec![source, source, self.totals(level + 1)])
    }

    /// Scans the tiles of a level, each on its own; their totals are the next one.
    fn scan_tiles(&self, level: usize) -> Pass {
        let shader = self.shader("scan_tiles.comp", self.config, &self.problem(level));
        let bindings = vec![self.source(level), self.target(level), self.totals(level + 1)];
        let mut pass = self.pass(level, shader, bindings);
        // The identity of a user's operator is in its file.
        if level == 0 && self.problem.mode() == Mode::Exclusive && self.problem.user().is_none() {
            let identity = self.problem.operator().identity(self.problem.element());
            pass.words.extend(initial_words(Some(identity)));
        }
        pass
    }

    /// Scans, or adds up, a level by one workgroup.
    fn last_level(&self, level: usize) -> Pass {
        let (problem, target) = match self.problem.mode() {
            // The total of the totals, which is nobody's prefix.
            Mode::Reduce => (*self.problem, Binding::Output),
            _ => (self.problem(level), self.target(level)),
        };
        let shader = self.shader("one_workgroup.comp", self.config, &problem);
        let mut pass = self.pass(level, shader, vec![self.source(level), target]);
        pass.workgroups = 1;
        pass.words.extend(initial_words(problem.init()));
        pass
    }

    /// Scans the tiles of a level behind what comes before them.
    fn downsweep_tiles(&self, level: usize) -> Pass {
        let problem = self.problem(level);
        let shader = self.shader("downsweep_tiles.comp", self.config, &problem);
        let bindings = vec![self.source(level), self.target(level), self.totals(level + 1)];
        let mut pass = self.pass(level, shader, bindings);
        pass.words.extend(initial_words(problem.init()));
        pass
    }

    /// Combines what comes before the tiles of a level with their scans, in place.
    fn propagate(&self, level: usize) -> Pass {
        let problem = self.problem(level).of_output();
        let shader = self.shader("propagate.comp", &self.by_rows(), &problem);
        let target = self.target(level);
        let mut pass = self.pass(level, shader, vec![target, target, self.totals(level + 1)]);
        pass.words.extend(initial_words(problem.init()));
        pass
    }
}
