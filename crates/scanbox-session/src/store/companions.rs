//! What stands beside rows as text, and is cut or removed: by what every one of its lines looks like, because a text of
//! somebody else may begin with any word. `journal` and [`crate::lock`] write them.

/// Whether this is the journal of a sweep: the first line begins a run, every complete line is one of a journal, and
/// the last one may be cut off.
#[must_use]
pub fn is_journal(text: &str) -> bool {
    let Some((complete, torn)) = text.rsplit_once('\n') else { return false };
    let mut lines = complete.lines();
    lines.next().is_some_and(begins_run) && lines.all(is_line) && may_begin_line(torn)
}

/// Whether this may be a journal whose first line was cut off.
#[must_use]
pub fn may_begin_journal(text: &str) -> bool {
    let words: Vec<&str> = text.split(' ').collect();
    match words[..] {
        [verb] => "run".starts_with(verb),
        ["run", word] => is_run_id(word) || word.is_empty(),
        ["run", boot, _] => is_boot(boot),
        ["run", boot, _, ref moments @ ..] => {
            is_boot(boot)
                && moments.len() <= 2
                && moments.iter().all(|moment| is_number(moment) || moment.is_empty())
        }
        _ => false,
    }
}

/// `run BOOT HOST UP NOW`, or, of older versions, `run ID`.
fn begins_run(line: &str) -> bool {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["run", id] => id.len() >= 8 && is_run_id(id),
        ["run", boot, host, up, now] => is_boot(boot) && !host.is_empty() && is_number(up) && is_number(now),
        _ => false,
    }
}

fn is_line(line: &str) -> bool {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["run", ..] => begins_run(line),
        ["start" | "dropped", _, n] | ["ended", _, n, ..] => is_number(n),
        ["broke", _, ..] | ["end"] => true,
        _ => false,
    }
}

fn may_begin_line(line: &str) -> bool {
    let verbs = ["run", "start", "ended", "dropped", "broke", "end"];
    match line.split_once(' ') {
        Some((verb, _)) => verbs.contains(&verb),
        None => verbs.iter().any(|verb| verb.starts_with(line)),
    }
}

/// What Linux calls the time since it was started, a UUID; `-` where nothing is known.
fn is_boot(word: &str) -> bool {
    word == "-" || (word.len() == 36 && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-'))
}

/// The beginning of a boot, or of the id of a run: `20261121T095541Z-3251`.
fn is_run_id(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_hexdigit() || b"TZ-".contains(&byte))
}

fn is_number(word: &str) -> bool {
    word.parse::<i64>().is_ok()
}

/// Whether this is the lock of a sweep: `process ID on HOST, since TIME: COMMAND`.
#[must_use]
pub fn is_lock(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("process ") else { return false };
    let Some((process, rest)) = rest.split_once([' ', ',']) else { return false };
    let Some((_, since)) = rest.split_once("since ") else { return false };
    let time = since.split_once('Z').map_or("", |(time, _)| time);
    let digits = time.bytes().filter(u8::is_ascii_digit).count();
    process.parse::<u32>().is_ok()
        && digits == 14
        && time.bytes().all(|byte| b"0123456789-T:".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOT: &str = "3bd9bf5a-3a6b-4e0e-8a6d-0a1b2c3d4e5f";

    #[test]
    fn a_journal_is_known_by_all_its_lines() {
        let run = format!("run {BOOT} host 1763000000 1763000100\n");
        let whole =
            format!("{run}start a 1\nended a 1 killed by signal 6\ndropped b.c 2\nbroke it\nend\n{run}end\n");
        assert!(
            is_journal(&whole) && is_journal("run - - 0 5\n") && is_journal("run 20261121T095541Z-3251\n")
        );
        // Cut anywhere it is one still, or may be one.
        for cut in 0..whole.len() {
            let text = &whole[..cut];
            assert!(if cut < run.len() { may_begin_journal(text) } else { is_journal(text) }, "{text}");
        }
        for line in
            ["my notes", "start over", "start a b", "ended", "endless", "run out", "run 1 2 3 4", "", "broke"]
        {
            assert!(
                !is_journal(&format!("{line}\n")) && !is_journal(&format!("{run}{line}\nend\n")),
                "{line}"
            );
        }
        for notes in ["run 1 was slow, fan loud", "run fast", "running", "run 1 2"] {
            assert!(!may_begin_journal(notes) && !is_journal(&format!("{run}{notes}\n")), "{notes}");
        }
    }

    #[test]
    fn a_lock_says_which_process_has_it() {
        assert!(is_lock("process 17 on host, since 2026-01-01T00:00:00Z: scanbox sweep --out a\nb\n"));
        assert!(is_lock(
            "process 17 shares the device on host, job 7, since 2026-01-01T00:00:00Z: scanbox\n"
        ));
        for notes in
            ["process 17 was slow, since monday", "process it, since 2026-01-01T00:00:00Z", "process 1"]
        {
            assert!(!is_lock(notes), "{notes}");
        }
    }
}
