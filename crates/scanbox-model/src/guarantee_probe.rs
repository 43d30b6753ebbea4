//! What was found out on a device about guarantees: things that kernels may need and no specification promises.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::safe_devices::Guarantee;

/// What a probe came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeVerdict {
    /// The device was seen not to keep it.
    Refuted,
    /// It was asked for often, and kept each time. That is no proof: it opens configs for measuring, where a hang costs
    /// a row, and never for what programs ship.
    NotRefuted,
    /// Nobody can say: the probe did not come to its end, or asks nothing on such a device.
    Unknown,
    /// The device hung or was lost, or its driver died, although every wait of the probe ends. What waits for longer is
    /// not tried there.
    Hung,
}

impl ProbeVerdict {
    /// Whether it speaks against the device, whatever a list says for it.
    #[must_use]
    pub fn is_against(self) -> bool {
        matches!(self, Self::Refuted | Self::Hung)
    }
}

/// What was found about one guarantee.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuaranteeFinding {
    /// Which.
    pub guarantee: Guarantee,
    /// What came of it.
    pub verdict: ProbeVerdict,
    /// Calls that asked for it.
    pub calls: u32,
    /// Of one that is refuted: the round, who waited for whom. Of one that is not: the numbers of the worst round. Of
    /// one that is unknown, or that the device did not survive: why.
    pub detail: String,
    /// When, in UTC.
    pub date: String,
}

/// How many workgroups of a shape were seen at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResidentShape {
    /// Invocations of a subgroup, where that is not the device's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subgroup_size: Option<u32>,
    /// Invocations of a workgroup.
    pub workgroup_size: u32,
    /// Registers per invocation, where the driver tells; else as many as any kernel may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registers: Option<u32>,
    /// Shared memory of a workgroup, in bytes.
    pub shared_bytes: u64,
    /// Workgroups on the whole device.
    pub workgroups: u64,
}

/// What a probe of a device found about all guarantees.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuaranteesProbe {
    /// One for each guarantee that was asked for.
    pub findings: Vec<GuaranteeFinding>,
    /// Of shapes, how many workgroups are there at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub residents: Vec<ResidentShape>,
    /// What asked: version of scanbox, hash of the probes, threads of a software device. Empty of older ones.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
}

/// So many counts show how many units there are.
const COUNTS_OF_UNITS: usize = 8;

impl GuaranteesProbe {
    /// What was found about this one.
    #[must_use]
    pub fn of(&self, guarantee: Guarantee) -> Option<&GuaranteeFinding> {
        self.findings.iter().find(|finding| finding.guarantee == guarantee)
    }

    /// Takes in what was found about a guarantee, in place of what was found about it before. `residents`: of
    /// co-residency.
    pub fn take(&mut self, finding: GuaranteeFinding, residents: Vec<ResidentShape>) {
        if finding.guarantee == Guarantee::CoResidency {
            self.residents = residents;
        }
        self.findings.retain(|other| other.guarantee != finding.guarantee);
        self.findings.push(finding);
    }

    /// Workgroups of this shape that were seen at the same time, at least. A workgroup that asks for less of everything
    /// fits where one that asks for more does. `subgroup_size`: where it is not the device's own choice.
    #[must_use]
    pub fn resident(
        &self,
        subgroup_size: Option<u32>,
        workgroup_size: u32,
        registers: Option<u32>,
        shared_bytes: u64,
    ) -> Option<u64> {
        let holds = |shape: &&ResidentShape| {
            let has_registers = match (shape.registers, registers) {
                (Some(held), Some(asked)) => held >= asked,
                // The driver tells nobody's.
                (None, None) => true,
                _ => false,
            };
            let is_larger = shape.workgroup_size >= workgroup_size && shape.shared_bytes >= shared_bytes;
            shape.subgroup_size == subgroup_size && is_larger && has_registers
        };
        self.residents.iter().filter(holds).map(|shape| shape.workgroups).max()
    }

    /// Workgroups of this shape that can be there at the same time, at most: as many as were counted of one that asks
    /// for less of everything.
    #[must_use]
    pub fn resident_at_most(
        &self,
        subgroup_size: Option<u32>,
        workgroup_size: u32,
        registers: Option<u32>,
        shared_bytes: u64,
    ) -> u64 {
        let asks_less = |shape: &&ResidentShape| {
            let has_registers = match (shape.registers, registers) {
                (Some(held), Some(asked)) => held <= asked,
                _ => false,
            };
            let is_smaller = shape.workgroup_size <= workgroup_size && shape.shared_bytes <= shared_bytes;
            shape.subgroup_size == subgroup_size && is_smaller && has_registers
        };
        self.residents.iter().filter(asks_less).map(|shape| shape.workgroups).min().unwrap_or(u64::MAX)
    }

    /// The units that run workgroups, as the counts show them: each holds as many workgroups of a shape as every other
    /// one, so that all counts are multiples of their number. `None` where they are too few to tell, or have nothing
    /// in common: then some of them are off by one.
    #[must_use]
    pub fn units(&self) -> Option<u32> {
        let divisor = |one: u64, other: u64| {
            let (mut one, mut other) = (one, other);
            while other > 0 {
                (one, other) = (other, one % other);
            }
            one
        };
        let common = self.residents.iter().map(|shape| shape.workgroups).fold(0, divisor);
        let units = u32::try_from(common).ok()?;
        (self.residents.len() >= COUNTS_OF_UNITS && units > 1).then_some(units)
    }

    /// Whether it is what a probe that asks by this version can have found.
    #[must_use]
    pub fn answers(&self, version: &str) -> bool {
        self.version == version && self.is_sound()
    }

    /// Whether a probe can have found this: each guarantee once, refuted and unknown with a reason, and workgroups only
    /// where those that fit were seen to run together.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let once = self.findings.iter().enumerate().all(|(place, finding)| {
            let told = finding.verdict == ProbeVerdict::NotRefuted || !finding.detail.is_empty();
            let ended = matches!(finding.verdict, ProbeVerdict::Refuted | ProbeVerdict::NotRefuted);
            let asked = !ended || finding.calls > 0;
            let new = self.findings[..place].iter().all(|other| other.guarantee != finding.guarantee);
            told && asked && new && !finding.date.is_empty()
        });
        let together = self
            .of(Guarantee::CoResidency)
            .is_some_and(|finding| finding.verdict == ProbeVerdict::NotRefuted);
        let some = self.residents.iter().all(|shape| shape.workgroups > 0 && shape.workgroup_size > 0);
        !self.findings.is_empty() && once && some && together != self.residents.is_empty()
    }

    /// What it says against the device, and nothing for it: all that is good for kernels that programs ship.
    #[must_use]
    pub fn refuted(&self) -> Option<Self> {
        let against = self.findings.iter().filter(|finding| finding.verdict.is_against());
        let findings: Vec<_> = against.cloned().collect();
        (!findings.is_empty()).then(|| Self {
            findings,
            residents: Vec::new(),
            version: self.version.clone(),
        })
    }

    /// The same, with all that another one of the same device says against it.
    #[must_use]
    pub fn refuted_by(mut self, other: &Self) -> Self {
        for finding in other.findings.iter().filter(|finding| finding.verdict.is_against()) {
            self.take(finding.clone(), Vec::new());
        }
        self
    }
}

/// What is known of a device about guarantees beside the list of those that it gives.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuaranteeFacts {
    /// What the user assumes, whatever was found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<Guarantee>,
    /// What the device is known not to give, so that nobody has to try.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<Guarantee>,
    /// What was found out there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<GuaranteesProbe>,
}

impl GuaranteeFacts {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What a probe came to, about this one.
    #[must_use]
    pub fn finding(&self, guarantee: Guarantee) -> Option<&GuaranteeFinding> {
        self.probe.as_ref()?.of(guarantee)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(guarantee: Guarantee, verdict: ProbeVerdict) -> GuaranteeFinding {
        let (detail, date) = ("round 1".to_owned(), "2026-11-23".to_owned());
        GuaranteeFinding { guarantee, verdict, calls: 40, detail, date }
    }

    fn shape(workgroup_size: u32, registers: u32, workgroups: u64) -> ResidentShape {
        ResidentShape {
            subgroup_size: None,
            workgroup_size,
            registers: Some(registers),
            shared_bytes: 4096,
            workgroups,
        }
    }

    #[test]
    fn a_shape_fits_where_a_larger_one_does() {
        let residents = vec![shape(256, 64, 528), shape(256, 40, 792), shape(512, 64, 264)];
        let probe = GuaranteesProbe {
            findings: vec![finding(Guarantee::CoResidency, ProbeVerdict::NotRefuted)],
            residents,
            ..GuaranteesProbe::default()
        };
        assert!(probe.is_sound());
        assert_eq!(probe.resident(None, 256, Some(64), 264), Some(528));
        assert_eq!(probe.resident(None, 256, Some(63), 4096), Some(528));
        assert_eq!(probe.resident(None, 256, Some(40), 0), Some(792));
        assert_eq!(probe.resident(None, 192, Some(41), 0), Some(528));
        assert_eq!(probe.resident(None, 257, Some(41), 0), Some(264));
        assert_eq!(probe.resident(None, 256, Some(65), 0), None);
        assert_eq!(probe.resident(None, 256, Some(64), 4097), None);
        assert_eq!(probe.resident(None, 256, None, 0), None);
        assert_eq!(probe.resident(None, 513, Some(1), 0), None);
        assert_eq!(probe.resident_at_most(None, 256, Some(64), 4096), 528);
        assert_eq!(probe.resident_at_most(None, 256, Some(63), 9000), 792);
        assert_eq!(probe.resident_at_most(None, 1024, Some(64), 4096), 264);
        assert_eq!(probe.resident_at_most(None, 256, Some(64), 4095), u64::MAX);
        // Of other subgroups others fit.
        let other = ResidentShape { subgroup_size: Some(32), ..shape(256, 64, 500) };
        let both =
            GuaranteesProbe { residents: [probe.residents.clone(), vec![other]].concat(), ..probe.clone() };
        assert_eq!(both.resident(Some(32), 256, Some(64), 0), Some(500));
        assert_eq!(both.resident_at_most(Some(32), 512, Some(64), 4096), 500);
        assert_eq!(both.resident(Some(16), 256, Some(64), 0), None);
        assert_eq!(both.resident(None, 256, Some(64), 0), Some(528));
    }

    #[test]
    fn all_units_hold_as_many_workgroups() {
        let check = |counts: &[u64], expected: Option<u32>| {
            let residents = counts.iter().map(|&count| shape(64, 32, count)).collect();
            let probe = GuaranteesProbe { residents, ..GuaranteesProbe::default() };
            assert_eq!(probe.units(), expected, "{counts:?}");
        };
        check(&[4224, 3168, 2640, 2376, 2112, 132, 1320, 264], Some(132));
        // Too few to tell, and one that is off by one.
        check(&[4224, 3168, 2640, 2376, 2112, 132, 1320], None);
        check(&[4224, 3168, 2640, 2376, 2112, 131, 1320, 264], None);
        check(&[1, 1, 1, 1, 1, 1, 1, 1, 1], None);
        check(&[], None);
    }

    #[test]
    fn only_what_a_probe_can_have_found_is_taken() {
        use Guarantee::{CoResidency, Progress};
        let sound = |findings: Vec<GuaranteeFinding>, residents: Vec<ResidentShape>| {
            let probe = GuaranteesProbe { findings, residents, version: "0.2.0".to_owned() };
            let kept = serde_json::to_string(&probe).unwrap();
            assert_eq!(serde_json::from_str::<GuaranteesProbe>(&kept).unwrap(), probe);
            probe.is_sound()
        };
        let kept = finding(CoResidency, ProbeVerdict::NotRefuted);
        let refuted = finding(Progress, ProbeVerdict::Refuted);
        assert!(sound(vec![refuted.clone()], vec![]));
        assert!(sound(vec![refuted.clone(), kept.clone()], vec![shape(1, 1, 1)]));
        assert!(!sound(vec![], vec![]));
        assert!(!sound(vec![refuted.clone(), refuted.clone()], vec![]));
        assert!(!sound(vec![kept.clone()], vec![]));
        assert!(!sound(vec![refuted.clone()], vec![shape(1, 1, 1)]));
        assert!(!sound(vec![kept], vec![shape(64, 1, 0)]));
        assert!(!sound(vec![GuaranteeFinding { detail: String::new(), ..refuted.clone() }], vec![]));
        assert!(!sound(vec![GuaranteeFinding { calls: 0, ..refuted }], vec![]));
        let hung = GuaranteeFinding { calls: 0, ..finding(Progress, ProbeVerdict::Hung) };
        assert!(sound(vec![hung.clone()], vec![]));
        assert!(!sound(vec![GuaranteeFinding { detail: String::new(), ..hung }], vec![]));
    }

    /// What is found anew takes the place of what was found before; what speaks against a device stays.
    #[test]
    fn findings_are_taken_in_one_by_one() {
        use Guarantee::{CoResidency, Progress};
        use ProbeVerdict::{Hung, NotRefuted, Refuted, Unknown};
        let mut probe = GuaranteesProbe::default();
        probe.take(finding(CoResidency, NotRefuted), vec![shape(64, 1, 8)]);
        probe.take(finding(Progress, Refuted), Vec::new());
        assert!(probe.is_sound() && probe.residents.len() == 1);
        let check = |other: &[(Guarantee, ProbeVerdict)], expected: [ProbeVerdict; 2]| {
            let findings = other.iter().map(|(guarantee, verdict)| finding(*guarantee, *verdict)).collect();
            let other = GuaranteesProbe { findings, ..GuaranteesProbe::default() };
            let both = probe.clone().refuted_by(&other);
            let verdicts = [CoResidency, Progress].map(|guarantee| both.of(guarantee).unwrap().verdict);
            assert_eq!((verdicts, both.is_sound(), both.findings.len()), (expected, true, 2), "{other:?}");
        };
        check(&[], [NotRefuted, Refuted]);
        check(&[(CoResidency, Unknown), (Progress, NotRefuted)], [NotRefuted, Refuted]);
        check(&[(CoResidency, Refuted)], [Refuted, Refuted]);
        check(&[(CoResidency, Hung), (Progress, Hung)], [Hung, Hung]);
        assert_eq!(probe.refuted().unwrap().findings, [finding(Progress, Refuted)]);
        probe.take(finding(CoResidency, Hung), Vec::new());
        assert!(probe.is_sound() && probe.refuted().unwrap().findings.len() == 2);
    }
}
