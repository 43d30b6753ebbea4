//! Which rows may win: wrong once is wrong until shown right.
//!
//! A race that gives a wrong result in one of a thousand calls is `ok` in most rows. So a config that has a
//! `wrong_result` row at a size, on a device with a driver and kernel sources, counts nowhere at that size there,
//! whichever row or file came first, and whatever else says `ok`: no answer is about it. What takes that back is a
//! row that a run made for it has written (`scanbox sweep --retry-failed --prove`), with as many right calls
//! as [`Record::proved_calls`] says, and no earlier than the wrong one. Rows of benchmarks accuse too; of a variant
//! ([`Record::blocking`]) they do not, because it is another program.
//!
//! A label may have the number of workgroups or leave it to the size: at one size both are one program, and one
//! verdict.
//!
//! The verdict is about one size. A kernel is compared over sizes, and takes part where it has a config that counts
//! at each of them: a kernel whose only config at a size is distrusted drops out by that, with the reason.

use std::collections::BTreeMap;

use scanbox_model::config::Config;
use scanbox_model::device_api::DeviceApi;
use scanbox_model::record::{Record, Status};

use crate::problem::Problem;
use scanbox_model::row_rules::OWN_SUBJECT;

/// What ran: verdicts on other drivers or sources say nothing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TrustScope {
    pub problem: Problem,
    pub device: String,
    pub api: DeviceApi,
    pub device_uuid: String,
    pub driver: String,
    pub kernel_hash: String,
}

impl TrustScope {
    fn of(record: &Record) -> Option<Self> {
        Some(Self {
            problem: Problem::of_row(record).ok()?,
            device: record.device.clone(),
            api: DeviceApi::of(record),
            device_uuid: record.device_uuid.clone(),
            driver: record.driver.clone(),
            kernel_hash: record.kernel_hash.clone(),
        })
    }
}

/// A row that accuses or clears, with what tells units of equal UUIDs apart.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Testimony {
    host: String,
    pci_address: String,
    timestamp: u64,
}

impl Testimony {
    fn of(record: &Record) -> Self {
        Self {
            host: record.host.clone(),
            pci_address: record.pci_address.clone(),
            timestamp: timestamp_key(&record.timestamp_utc),
        }
    }

    /// Whether it may be about this unit: what is not known is no difference.
    fn may_be_of(&self, host: &str, pci_address: &str) -> bool {
        let same = |a: &str, b: &str| a.is_empty() || b.is_empty() || a == b;
        same(&self.host, host) && same(&self.pci_address, pci_address)
    }
}

/// What rows say of one config at one size.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Verdicts {
    wrong: Vec<Testimony>,
    proved: Vec<Testimony>,
}

impl Verdicts {
    fn distrust(&self, host: &str, pci_address: &str) -> bool {
        let cleared = |wrong: &Testimony| {
            let later = self.proved.iter().filter(|proof| proof.timestamp >= wrong.timestamp);
            later.into_iter().any(|proof| {
                proof.may_be_of(host, pci_address) && proof.may_be_of(&wrong.host, &wrong.pci_address)
            })
        };
        self.wrong.iter().any(|wrong| wrong.may_be_of(host, pci_address) && !cleared(wrong))
    }
}

/// A config that counts nowhere at a size.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Distrusted {
    /// Input size in elements.
    pub n: u64,
    /// The label of the config.
    pub config: String,
}

impl Distrusted {
    /// What a row is about, under the label that leaves the workgroups to the size.
    fn of(record: &Record) -> Self {
        let label = record.config_id.as_str();
        let is_count = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let config = match label.rsplit_once(".g") {
            Some((config, workgroups)) if is_count(workgroups) => config,
            _ => label,
        };
        Self { n: record.n_elements, config: config.to_owned() }
    }

    /// It under both labels.
    fn spellings(&self) -> [Self; 2] {
        let tiles = self.config.parse::<Config>().map(|config| config.tiles(self.n));
        let config = tiles.map_or_else(|_| self.config.clone(), |tiles| format!("{}.g{tiles}", self.config));
        [self.clone(), Self { n: self.n, config }]
    }
}

/// What is to be done about a config that was wrong.
pub const PROOF: &str = "`scanbox sweep --retry-failed --prove`";

/// What the rows of any number of files accuse and clear.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trust {
    programs: BTreeMap<TrustScope, BTreeMap<Distrusted, Verdicts>>,
}

impl Trust {
    /// What these rows say.
    #[must_use]
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut trust = Self::default();
        records.into_iter().for_each(|record| trust.push(record));
        trust
    }

    /// Takes a row of scanbox's own; of others it takes nothing.
    pub fn push(&mut self, record: &Record) {
        let wrong = record.status == Status::WrongResult;
        let proves = record.status == Status::Ok && record.proved_calls.is_some_and(|calls| calls > 0);
        // Other builds say nothing of the ordinary one.
        if !(wrong || proves) || record.subject != OWN_SUBJECT || !record.is_ordinary() {
            return;
        }
        let Some(program) = TrustScope::of(record) else { return };
        let point = Distrusted::of(record);
        let verdicts = self.programs.entry(program).or_default().entry(point).or_default();
        let of_kind = if wrong { &mut verdicts.wrong } else { &mut verdicts.proved };
        of_kind.push(Testimony::of(record));
    }

    /// Takes over what other files say.
    pub fn merge(&mut self, other: Self) {
        for (program, points) in other.programs {
            let here = self.programs.entry(program).or_default();
            for (point, verdicts) in points {
                let all = here.entry(point).or_default();
                all.wrong.extend(verdicts.wrong);
                all.proved.extend(verdicts.proved);
            }
        }
    }

    /// Whether nothing is accused anywhere.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    /// Whether a row may win: its config at its size was never wrong on its device, driver and sources, or was shown
    /// right since. It says nothing of the status of the row.
    #[must_use]
    pub fn trusts(&self, record: &Record) -> bool {
        if self.programs.is_empty() {
            return true;
        }
        let points = TrustScope::of(record).and_then(|program| self.programs.get(&program));
        let point = Distrusted::of(record);
        let verdicts = points.and_then(|points| points.get(&point));
        verdicts.is_none_or(|verdicts| !verdicts.distrust(&record.host, &record.pci_address))
    }

    /// What counts nowhere of what a program runs on a unit, ascending by size, under every label that it may have.
    pub(crate) fn of_program(&self, program: &TrustScope, host: &str, pci_address: &str) -> Vec<Distrusted> {
        let points = self.programs.get(program).into_iter().flatten();
        let accused = points.filter(|(_, verdicts)| verdicts.distrust(host, pci_address));
        accused.flat_map(|(point, _)| point.spellings()).collect()
    }
}

/// A timestamp as a number in the order of time: 14 digits of date and time and 4 of the fraction of the second.
pub(crate) fn timestamp_key(text: &str) -> u64 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction_end = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
    let number = |digits: &str, count| {
        let digits = digits.bytes().filter(u8::is_ascii_digit).chain(std::iter::repeat(b'0'));
        digits.take(count).fold(0u64, |number, digit| 10 * number + u64::from(digit - b'0'))
    };
    10_000 * number(whole, 14) + number(&fraction[..fraction_end], 4)
}
