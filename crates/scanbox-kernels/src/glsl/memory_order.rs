//! Whether what a shader writes for other invocations reaches them, as the memory model has it. Where it does not, runs
//! on devices that order more than they have to are right all the same: so the module is looked at.

use std::collections::{BTreeMap, BTreeSet};

use scanbox_model::config::{Family, Parameter, Reset, TileOrder};
use scanbox_model::parameters::Totals;

use super::spirv::{self, code_of, instructions};
use crate::plan::Shader;

/// What of a module is not ordered as it has to be; `None` where all is. The rules:
///
/// - The scope of an atomic operation is that of all who share the memory.
/// - What acquires or releases orders memory of its own kind, of the workgroup or of the device. What is written to a
///   shared variable is released if it is acquired, and the other way round. Of what releases, the value that was there
///   before is used only where it acquires, too.
/// - What atomic operations access in a buffer, no plain load does; what atomic loads do, no plain store does.
/// - An atomic load in a loop is volatile, or a compiler may make one for all rounds.
/// - A barrier of the workgroup orders shared memory.
/// - Where workgroups wait for others, a loop reads from a buffer by an atomic operation. Where they take tickets, one
///   reads and writes. Where the last one clears, one that acquires and releases says which one is the last.
pub(super) fn unordered(words: &[u32], duties: Duties) -> Option<&'static str> {
    let all = instructions(words);
    let mut reader = Reader::new(&all);
    all.iter()
        .find_map(|one| reader.read(one))
        .or_else(|| reader.unpaired())
        .or_else(|| reader.missing(duties))
}

/// What a module has to do, which it does not say itself.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Duties {
    /// Its workgroups wait for what others pass on.
    pub waits: bool,
    /// They take tickets.
    pub takes_tickets: bool,
    /// The last of them clears what they have passed on.
    pub last_clears: bool,
}

impl Duties {
    /// Those of a shader: the root of a family has them, and its defines say which. A test of a stage has none.
    pub(super) fn of(shader: &Shader) -> Self {
        let passes_on = |family: &Family| {
            let entry = family.entry();
            entry.shader == shader.root && entry.totals == Totals::PassedOn
        };
        if !Family::VALUES.iter().any(passes_on) {
            return Self::default();
        }
        Self {
            waits: true,
            takes_tickets: shader.defines.contains(&("TILE_ORDER", TileOrder::Ticket as u32)),
            last_clears: shader.resets(Reset::Clean),
        }
    }
}

/// A pointer: the class of the memory, the pointer that it leads on from (of what is shared, a variable), and its place
/// in what that one points to.
#[derive(Clone, Default)]
struct Pointer {
    class: u32,
    base: u32,
    place: PlaceInType,
}

/// A type, and the members on the way to a place in it; `None` for any element of an array.
type PlaceInType = (u32, Vec<Option<u32>>);

/// What is done with a shared variable, or with a place in buffers.
#[derive(Default)]
struct Uses {
    acquired: bool,
    released: bool,
    /// By any atomic operation.
    is_atomic: bool,
    /// By an atomic load: somebody waits for it.
    is_loaded: bool,
    has_plain_load: bool,
    has_plain_store: bool,
    /// By an atomic operation in a loop that may be a poll.
    is_polled: bool,
    /// By an atomic operation that reads and writes.
    is_changed: bool,
}

/// What is known of a module as far as it has been read. What is used stands before.
#[derive(Default)]
struct Reader {
    /// The class of the memory that pointers of a type are to, and the type of what is there.
    pointer_types: BTreeMap<u32, (u32, u32)>,
    pointers: BTreeMap<u32, Pointer>,
    constants: BTreeMap<u32, u32>,
    shared: BTreeMap<u32, Uses>,
    /// What atomic operations found that release and do not acquire.
    released_alone: BTreeSet<u32>,
    buffers: BTreeMap<PlaceInType, Uses>,
    /// Where a loop ends, by where it begins.
    loops: BTreeMap<u32, u32>,
    /// The ends of the loops that are open.
    open: BTreeSet<u32>,
}

impl Reader {
    fn new(all: &[&[u32]]) -> Self {
        let (mut loops, mut label) = (BTreeMap::new(), 0);
        for one in all {
            match (code_of(one), &one[1..]) {
                (spirv::LABEL, [name]) => label = *name,
                (spirv::LOOP_MERGE, [end, ..]) => {
                    loops.insert(label, *end);
                }
                _ => {}
            }
        }
        Self { loops, ..Self::default() }
    }

    /// Takes an instruction in. Returns what is wrong with it.
    fn read(&mut self, one: &[u32]) -> Option<&'static str> {
        let number = code_of(one);
        if one[1..].iter().any(|name| self.released_alone.contains(name)) {
            return Some("what an atomic operation finds is used, but it releases and does not acquire");
        }
        match (number, &one[1..]) {
            (spirv::TYPE_POINTER, [name, class, of]) => {
                self.pointer_types.insert(*name, (*class, *of));
            }
            (spirv::CONSTANT, [_, name, value]) => {
                self.constants.insert(*name, *value);
            }
            (spirv::LABEL, [name]) => {
                self.open.remove(name);
                self.open.extend(self.loops.get(name));
            }
            (spirv::CONTROL_BARRIER, [execution, scope, semantics]) => {
                let [execution, scope, semantics] =
                    [execution, scope, semantics].map(|name| self.value(*name));
                let orders = reaches_workgroup(scope)
                    && semantics & spirv::SHARED_MEMORY != 0
                    && acquires(semantics)
                    && releases(semantics);
                if execution == spirv::WORKGROUP && !orders {
                    return Some("a barrier of the workgroup does not order shared memory");
                }
            }
            (spirv::ATOMIC_STORE, [pointer, scope, semantics, ..]) => {
                return self.access([*pointer, *scope, *semantics], false, true);
            }
            (spirv::ATOMIC_LOAD, [_, _, pointer, scope, semantics]) => {
                if !self.open.is_empty() && self.value(*semantics) & spirv::VOLATILE == 0 {
                    return Some(
                        "an atomic load in a loop is not volatile: it may be made once for all rounds",
                    );
                }
                return self.access([*pointer, *scope, *semantics], true, false);
            }
            (_, [_, name, pointer, scope, semantics, ..])
                if spirv::ATOMIC_CHANGES.iter().any(|those| those.contains(&number)) =>
            {
                let order = self.value(*semantics);
                if releases(order) && !acquires(order) {
                    self.released_alone.insert(*name);
                }
                return self.access([*pointer, *scope, *semantics], true, true);
            }
            (spirv::LOAD, [_, _, pointer, ..]) => {
                if let Some(uses) = self.of_buffers(*pointer) {
                    uses.has_plain_load = true;
                }
            }
            (spirv::STORE, [pointer, ..]) => {
                if let Some(uses) = self.of_buffers(*pointer) {
                    uses.has_plain_store = true;
                }
            }
            _ => {}
        }
        if let [kind, name, rest @ ..] = &one[1..]
            && let Some((class, of)) = self.pointer_types.get(kind)
        {
            let pointer = match rest {
                [base, on @ ..] if spirv::ACCESS_CHAINS.contains(&number) => self.led_on(*base, on),
                _ => Pointer { class: *class, base: *name, place: (*of, Vec::new()) },
            };
            self.pointers.insert(*name, pointer);
        }
        None
    }

    /// The pointer that leads on from another one.
    fn led_on(&self, base: u32, on: &[u32]) -> Pointer {
        let mut pointer = self.pointers.get(&base).cloned().unwrap_or_default();
        pointer.place.1.extend(on.iter().map(|name| self.constants.get(name).copied()));
        pointer
    }

    /// What is done with the place in buffers that a pointer leads to.
    fn of_buffers(&mut self, pointer: u32) -> Option<&mut Uses> {
        let pointer =
            self.pointers.get(&pointer).filter(|pointer| spirv::BUFFERS.contains(&pointer.class))?;
        Some(self.buffers.entry(pointer.place.clone()).or_default())
    }

    /// An atomic operation, by the names of its pointer, its scope and its semantics.
    fn access(&mut self, names: [u32; 3], reads: bool, writes: bool) -> Option<&'static str> {
        let pointer = self.pointers.get(&names[0]).cloned().unwrap_or_default();
        let [scope, semantics] = [names[1], names[2]].map(|name| self.value(name));
        let is_shared = pointer.class == spirv::SHARED;
        let reaches = match is_shared {
            true => reaches_workgroup(scope),
            false => spirv::BEYOND_WORKGROUPS.contains(&scope),
        };
        if !reaches {
            return Some(match is_shared {
                true => "the scope of an atomic operation on shared memory is smaller than the workgroup",
                false => {
                    "the scope of an atomic operation on memory of the device leaves out other workgroups"
                }
            });
        }
        let own = if is_shared { spirv::SHARED_MEMORY } else { spirv::BUFFER_MEMORY };
        if (acquires(semantics) || releases(semantics)) && semantics & own == 0 {
            return Some("an atomic operation acquires or releases, but not memory of its own kind");
        }
        let is_in_loop = !self.open.is_empty();
        let is_fixed = pointer.place.1.iter().all(Option::is_some);
        let uses = match is_shared {
            true => self.shared.entry(pointer.base).or_default(),
            false => self.buffers.entry(pointer.place).or_default(),
        };
        uses.acquired |= reads && acquires(semantics);
        uses.released |= writes && releases(semantics);
        uses.is_atomic = true;
        uses.is_loaded |= !writes;
        // What reads and writes at a fixed place, over and over, takes tickets.
        uses.is_polled |= is_in_loop && reads && !(writes && is_fixed);
        uses.is_changed |= reads && writes;
        None
    }

    /// What of a module that has been read lacks its other half.
    fn unpaired(&self) -> Option<&'static str> {
        let of_shared = self.shared.values().find_map(|uses| match (uses.acquired, uses.released) {
            (true, false) => Some("what is acquired of a shared variable was never released"),
            (false, true) => Some("what is released in a shared variable is never acquired"),
            _ => None,
        });
        let of_buffers = |uses: &Uses| match uses {
            Uses { is_atomic: true, has_plain_load: true, .. } => Some(
                "a plain load reads what atomic operations write: it may see a part, or an old value for ever",
            ),
            Uses { is_loaded: true, has_plain_store: true, .. } => Some(
                "a plain store writes what atomic operations load: others may see a part of it, or nothing",
            ),
            _ => None,
        };
        of_shared.or_else(|| self.buffers.values().find_map(of_buffers))
    }

    /// What of its duties a module that has been read does not do.
    fn missing(&self, duties: Duties) -> Option<&'static str> {
        let some = |is: fn(&Uses) -> bool| self.buffers.values().any(is);
        if duties.waits && !some(|uses| uses.is_polled) {
            return Some(
                "no loop reads from a buffer by an atomic operation, but workgroups wait for others",
            );
        }
        if duties.takes_tickets && !some(|uses| uses.is_changed) {
            return Some("no atomic operation takes a ticket: two workgroups may get the same one");
        }
        if duties.last_clears && !some(|uses| uses.acquired && uses.released) {
            return Some("the workgroup that clears does not acquire what the others released");
        }
        None
    }

    /// The value of a constant.
    fn value(&self, name: u32) -> u32 {
        self.constants.get(&name).copied().unwrap_or(u32::MAX)
    }
}

fn acquires(semantics: u32) -> bool {
    semantics & (spirv::ACQUIRE | spirv::ACQUIRE_AND_RELEASE) != 0
}

fn releases(semantics: u32) -> bool {
    semantics & (spirv::RELEASE | spirv::ACQUIRE_AND_RELEASE) != 0
}

fn reaches_workgroup(scope: u32) -> bool {
    scope == spirv::WORKGROUP || spirv::BEYOND_WORKGROUPS.contains(&scope)
}

#[cfg(test)]
mod tests {
    use super::super::spirv::written::{instruction, module};
    use super::{Duties, unordered};

    // Names of constants: scopes of the device, of the workgroup and of a subgroup; then semantics, relaxed, volatile,
    // acquire, release and both, of shared memory, acquire of none, and both of buffers.
    const DEVICE: u32 = 20;
    const WORKGROUP: u32 = 21;
    const SUBGROUP: u32 = 22;
    const RELAXED: u32 = 23;
    const POLLED: u32 = 24;
    const ACQUIRE: u32 = 25;
    const RELEASE: u32 = 26;
    const BOTH: u32 = 27;
    const OF_NOTHING: u32 = 28;
    const OF_BUFFERS: u32 = 29;
    const VALUES: [u32; 10] = [1, 2, 3, 0, 0x8000, 0x8102, 0x104, 0x108, 0x2, 0x48];
    /// Pointers: to memory of the device, to two shared variables.
    const BUFFER: u32 = 30;
    const ONE: u32 = 31;
    const OTHER: u32 = 32;

    fn found(body: &[Vec<u32>]) -> Option<&'static str> {
        found_of(body, Duties::default())
    }

    fn found_of(body: &[Vec<u32>], duties: Duties) -> Option<&'static str> {
        let mut all = vec![instruction(32, &[2, 4, 1]), instruction(32, &[3, 5349, 1])];
        all.extend((DEVICE..).zip(VALUES).map(|(name, value)| instruction(43, &[1, name, value])));
        all.extend([40, 41].map(|name| instruction(43, &[1, name, name])));
        all.extend([ONE, OTHER].map(|name| instruction(59, &[2, name, 4])));
        all.extend([instruction(54, &[1, 9, 0, 1]), instruction(120, &[3, BUFFER, 8])]);
        all.extend_from_slice(body);
        unordered(&module(100, &all), duties)
    }

    fn load(pointer: u32, scope: u32, semantics: u32) -> Vec<u32> {
        instruction(227, &[1, 50, pointer, scope, semantics])
    }

    fn store(pointer: u32, scope: u32, semantics: u32) -> Vec<u32> {
        instruction(228, &[pointer, scope, semantics, 8])
    }

    fn add(pointer: u32, scope: u32, semantics: u32) -> Vec<u32> {
        instruction(234, &[1, 51, pointer, scope, semantics, 8])
    }

    fn plain_load(pointer: u32) -> Vec<u32> {
        instruction(61, &[1, 52, pointer])
    }

    fn plain_store(pointer: u32) -> Vec<u32> {
        instruction(62, &[pointer, 8])
    }

    /// A pointer to a member of what is in memory of the device: of constant 40 or 41, or any.
    fn member(name: u32, which: u32) -> Vec<u32> {
        instruction(65, &[3, name, BUFFER, which])
    }

    /// In a loop from label 60 to label 61.
    fn in_loop(inner: Vec<u32>) -> Vec<Vec<u32>> {
        let [begin, end] = [60, 61].map(|label| instruction(248, &[label]));
        vec![begin, instruction(246, &[61, 62, 0]), inner, end]
    }

    fn barrier(scope: u32, semantics: u32) -> Vec<Vec<u32>> {
        vec![instruction(224, &[WORKGROUP, scope, semantics])]
    }

    #[test]
    fn each_rule_has_what_keeps_it_and_what_does_not() {
        let chain = |from| instruction(65, &[2, 70, from, 8]);
        let kept = [
            vec![load(BUFFER, DEVICE, RELAXED), store(BUFFER, DEVICE, RELAXED), add(BUFFER, DEVICE, RELAXED)],
            vec![load(ONE, WORKGROUP, RELAXED), store(ONE, DEVICE, RELAXED)],
            in_loop(load(BUFFER, DEVICE, POLLED)),
            // What comes behind a loop is made once.
            [in_loop(add(ONE, WORKGROUP, RELAXED)), vec![load(ONE, WORKGROUP, RELAXED)]].concat(),
            vec![load(ONE, WORKGROUP, ACQUIRE), store(ONE, WORKGROUP, RELEASE)],
            vec![load(ONE, WORKGROUP, ACQUIRE), add(ONE, WORKGROUP, BOTH), load(OTHER, WORKGROUP, RELAXED)],
            vec![chain(ONE), load(70, WORKGROUP, ACQUIRE), store(ONE, WORKGROUP, RELEASE)],
            // What it finds is not used; or it finds, and others release.
            vec![load(ONE, WORKGROUP, ACQUIRE), add(ONE, WORKGROUP, RELEASE)],
            vec![add(ONE, WORKGROUP, ACQUIRE), store(ONE, WORKGROUP, RELEASE), instruction(62, &[53, 51])],
            barrier(WORKGROUP, BOTH),
            barrier(DEVICE, BOTH),
            // Another member of the same memory, and one that nobody waits for.
            vec![member(71, 40), member(72, 41), load(71, DEVICE, RELAXED), plain_load(72), plain_store(72)],
            vec![member(71, 40), add(71, DEVICE, RELAXED), plain_store(71)],
            vec![load(ONE, WORKGROUP, RELAXED), plain_load(ONE), plain_store(ONE)],
            // Of a subgroup: its invocations alone wait.
            vec![instruction(224, &[SUBGROUP, SUBGROUP, RELAXED])],
        ];
        for body in kept {
            assert_eq!(found(&body), None, "{body:?}");
        }
        let of_device =
            "the scope of an atomic operation on memory of the device leaves out other workgroups";
        let of_shared = "the scope of an atomic operation on shared memory is smaller than the workgroup";
        let of_nothing = "an atomic operation acquires or releases, but not memory of its own kind";
        let half = "what an atomic operation finds is used, but it releases and does not acquire";
        let once = "an atomic load in a loop is not volatile: it may be made once for all rounds";
        let acquired = "what is acquired of a shared variable was never released";
        let released = "what is released in a shared variable is never acquired";
        let plainly_read =
            "a plain load reads what atomic operations write: it may see a part, or an old value for ever";
        let plainly_written =
            "a plain store writes what atomic operations load: others may see a part of it, or nothing";
        let of_barrier = "a barrier of the workgroup does not order shared memory";
        let broken = [
            (vec![load(BUFFER, WORKGROUP, RELAXED)], of_device),
            (vec![store(BUFFER, WORKGROUP, RELAXED)], of_device),
            (vec![add(BUFFER, SUBGROUP, RELAXED)], of_device),
            // Of a pointer that nothing is known of, too.
            (vec![add(8, WORKGROUP, RELAXED)], of_device),
            (vec![store(ONE, SUBGROUP, RELAXED)], of_shared),
            (vec![chain(OTHER), add(70, SUBGROUP, RELAXED)], of_shared),
            (vec![load(ONE, WORKGROUP, OF_NOTHING)], of_nothing),
            (vec![add(BUFFER, DEVICE, BOTH)], of_nothing),
            (vec![load(ONE, WORKGROUP, OF_BUFFERS)], of_nothing),
            (vec![add(ONE, WORKGROUP, RELEASE), instruction(62, &[53, 51])], half),
            (in_loop(load(BUFFER, DEVICE, RELAXED)), once),
            (vec![member(71, 40), add(71, DEVICE, RELAXED), member(72, 40), plain_load(72)], plainly_read),
            (vec![member(71, 8), load(71, DEVICE, RELAXED), member(72, 9), plain_store(72)], plainly_written),
            (vec![load(ONE, WORKGROUP, ACQUIRE), store(ONE, WORKGROUP, RELAXED)], acquired),
            (vec![load(ONE, WORKGROUP, RELAXED), store(ONE, WORKGROUP, RELEASE)], released),
            (vec![load(ONE, WORKGROUP, ACQUIRE), store(OTHER, WORKGROUP, RELEASE)], acquired),
            (barrier(SUBGROUP, BOTH), of_barrier),
            (barrier(WORKGROUP, RELAXED), of_barrier),
            (barrier(WORKGROUP, ACQUIRE), of_barrier),
        ];
        for (body, what) in broken {
            assert_eq!(found(&body), Some(what), "{body:?}");
        }
    }

    #[test]
    fn duties_are_done() {
        let waits = Duties { waits: true, ..Duties::default() };
        let takes_tickets = Duties { takes_tickets: true, ..Duties::default() };
        let last_clears = Duties { last_clears: true, ..Duties::default() };
        let looped = |name, inner| [vec![member(name, 8)], in_loop(inner)].concat();
        let unpolled =
            Some("no loop reads from a buffer by an atomic operation, but workgroups wait for others");
        let untaken = Some("no atomic operation takes a ticket: two workgroups may get the same one");
        let unknown = Some("the workgroup that clears does not acquire what the others released");
        for (body, duties, what) in [
            (looped(71, load(71, DEVICE, POLLED)), waits, None),
            (in_loop(load(BUFFER, DEVICE, POLLED)), waits, None),
            // A poll may be one that writes, too, but not a ticket, which has a fixed place.
            (looped(71, add(71, DEVICE, RELAXED)), waits, None),
            (vec![member(71, 8), load(71, DEVICE, POLLED)], waits, unpolled),
            (looped(71, plain_load(71)), waits, unpolled),
            (looped(71, store(71, DEVICE, RELAXED)), waits, unpolled),
            (in_loop(load(ONE, WORKGROUP, POLLED)), waits, unpolled),
            (in_loop(add(BUFFER, DEVICE, RELAXED)), waits, unpolled),
            (vec![member(71, 40), add(71, DEVICE, RELAXED)], takes_tickets, None),
            (vec![member(71, 8), add(71, DEVICE, RELAXED)], takes_tickets, None),
            (vec![member(71, 40), plain_load(71), plain_store(71)], takes_tickets, untaken),
            (
                vec![member(71, 40), load(71, DEVICE, RELAXED), store(71, DEVICE, RELAXED)],
                takes_tickets,
                untaken,
            ),
            (vec![add(BUFFER, DEVICE, OF_BUFFERS)], last_clears, None),
            (vec![add(BUFFER, DEVICE, RELAXED)], last_clears, unknown),
            (vec![], last_clears, unknown),
            (vec![plain_load(BUFFER), plain_store(BUFFER)], Duties::default(), None),
        ] {
            assert_eq!(found_of(&body, duties), what, "{body:?}");
        }
    }
}
