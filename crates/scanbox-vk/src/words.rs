//! What problems and uses are called in messages, and which commands make a pack with them.

use scanbox_pack::{ArgumentKind, CallUse, PackData, ScanMode, ScanProblem};

/// Scans of a pack that a message lists at most.
const LISTED: usize = 4;

/// A problem and its use.
pub(crate) fn described(problem: &ScanProblem, call_use: CallUse) -> String {
    let CallUse { n_on_device, total, init_in_memory, scratch_overwritten, arguments, any_element } =
        call_use;
    let mut text = named(problem);
    for (holds, words) in [
        (n_on_device, ", number of elements on the device"),
        (total, ", total beside"),
        (init_in_memory, ", initial value in memory"),
        (scratch_overwritten, ", scratch memory overwritten between calls"),
        (arguments == ArgumentKind::Line, ", arguments in lines"),
        (arguments == ArgumentKind::Baked, ", arguments as constants"),
        (any_element, ", arrays at any element"),
    ] {
        text += if holds { words } else { "" };
    }
    text
}

/// A problem.
fn named(problem: &ScanProblem) -> String {
    let ScanProblem { element, operator, in_place, reverse, .. } = problem;
    let mut text = format!("{element} {operator} {}", mode_word(problem.mode));
    if let Some(value) = initial_value(problem) {
        text += &format!(" with initial value {value}");
    }
    text += if *in_place { " in place" } else { "" };
    text += if *reverse { " from the last element on" } else { "" };
    text
}

fn mode_word(mode: ScanMode) -> &'static str {
    match mode {
        ScanMode::Inclusive => "inclusive",
        ScanMode::Exclusive => "exclusive",
        ScanMode::Reduce => "reduce",
    }
}

/// The problem of the same words with the initial value that it has where nobody says one; none of a user's operator.
fn usual(mode: ScanMode, problem: &ScanProblem) -> Option<ScanProblem> {
    let is_own = problem.operator_hash.is_empty();
    ScanProblem::built_in(mode, &problem.element, &problem.operator).filter(|_| is_own)
}

/// What a problem begins with, if somebody said that.
fn initial_value(problem: &ScanProblem) -> Option<String> {
    let ScanProblem { mode, element, init, .. } = problem;
    if init.is_empty() || usual(*mode, problem).is_some_and(|usual| usual.init == *init) {
        return None;
    }
    let bits = init.iter().rev().fold(0, |bits: u64, word| bits << 32 | u64::from(*word));
    Some(match (&element[..], init.len()) {
        ("u32", 1) | ("u64", 2) => bits.to_string(),
        ("i32", 1) => (bits as i32).to_string(),
        ("i64", 2) => (bits as i64).to_string(),
        ("f32", 1) => f32::from_bits(bits as u32).to_string(),
        ("f64", 2) => f64::from_bits(bits).to_string(),
        _ => {
            let digits: String = init.iter().rev().map(|word| format!("{word:08x}")).collect();
            format!("0x{digits}")
        }
    })
}

/// A problem as an argument of `scanbox`; none where its operator is a user's.
fn in_one_word(problem: &ScanProblem) -> Option<String> {
    let ScanProblem { mode, element, operator, in_place, reverse, .. } = problem;
    usual(*mode, problem)?;
    let mut word = format!("{element}:{operator}:{}", mode_word(*mode));
    word += if *in_place { ":in-place" } else { "" };
    word += if *reverse { ":reverse" } else { "" };
    if let Some(value) = initial_value(problem) {
        word += &format!(":init={value}");
    }
    Some(word)
}

/// Which command makes a pack that has a problem and its use. `subgroup_size`: that of the device, if packs for any
/// device may leave it out.
pub(crate) fn pack_with(problem: &ScanProblem, call_use: CallUse, subgroup_size: Option<u32>) -> String {
    let Some(word) = in_one_word(problem) else {
        return "make a pack with it on this device: `scanbox sweep --operator FILE`, then `scanbox pack --operator \
                FILE`"
            .to_owned();
    };
    let tune = format!("make a pack with it on this device: `scanbox tune --problem {word}`");
    if call_use.arguments != ArgumentKind::Pushed {
        return tune;
    }
    let sizes = subgroup_size.map(|size| format!(" --portable {size}")).unwrap_or_default();
    format!("{tune}; or make one for any device: `scanbox pack --any-device {word}{sizes} -o my.scanpack`")
}

/// Why a pack does not have a scan, and what to do.
pub(crate) fn not_there(data: &PackData, problem: &ScanProblem, call_use: CallUse) -> [String; 2] {
    let ScanProblem { mode, element, element_bytes, init, .. } = problem;
    let identity = usual(ScanMode::Exclusive, problem).map(|usual| usual.init);
    let words = element_bytes.div_ceil(4) as usize;
    if init.len() != words && (!init.is_empty() || (*mode == ScanMode::Exclusive && identity.is_some())) {
        let has = 4 * init.len();
        let why =
            format!("an element of {element} has {element_bytes} bytes, and the initial value has {has}");
        return [why, "pass all words of an element (`ScanProblem::begin_with`)".to_owned()];
    }
    // No pack has such a problem.
    if *mode != ScanMode::Exclusive && identity.is_some_and(|identity| identity == *init) {
        let why = "the initial value is the identity of the operator, which changes nothing".to_owned();
        return [why, "leave it out".to_owned()];
    }
    let mut scans: Vec<&ScanProblem> = data.problems.iter().map(|known| &known.scan).collect();
    // What is most like it comes first.
    scans.sort_by_key(|scan| {
        (scan.operator != problem.operator, scan.element != *element, scan.mode != *mode)
    });
    let mut listed: Vec<String> = scans.iter().take(LISTED).map(|scan| named(scan)).collect();
    if scans.len() > LISTED {
        listed.push(format!("{} more", scans.len() - LISTED));
    }
    let list = if listed.is_empty() { "nothing".to_owned() } else { listed.join(", ") };
    [format!("the pack has no such scan; it has {list}"), pack_with(problem, call_use, None)]
}
