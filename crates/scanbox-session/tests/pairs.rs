//! Two programs in turns, on programs made by hand: in which order they run, and who is blamed when one of them fails.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use scanbox_model::record::Status;
use scanbox_runner::backend::Failure;
use scanbox_session::pairs::{LabelledPoint, PairProgram, PairsEvent, PairsJob, Round, Side, run};

/// What happened: `b` and `n` are blocks, `s` a start, `q` a row with times, `f` one that failed.
#[derive(Default)]
struct Log(RefCell<Vec<String>>);

impl Log {
    fn say(&self, what: impl Into<String>) {
        self.0.borrow_mut().push(what.into());
    }
}

/// A program that fails like this at its row `bad`, so many times in all.
struct Fake {
    side: Side,
    log: Rc<Log>,
    failing: Side,
    status: Status,
    left: Rc<Cell<u32>>,
}

impl PairProgram for Fake {
    fn load(&mut self, n: u64) -> Result<(), Failure> {
        assert_eq!(n, 4096, "the largest of the round");
        Ok(())
    }

    fn verify(&mut self, row: &LabelledPoint) -> Result<Option<f64>, Failure> {
        if row.config == "bad" && self.side == self.failing && self.left.get() > 0 {
            self.left.set(self.left.get() - 1);
            return Err(Failure::new(self.status, "made up"));
        }
        Ok(Some(100.0))
    }

    fn block(&mut self, row: &LabelledPoint, call_ns: Option<f64>) -> Result<f64, Failure> {
        assert_eq!(call_ns, Some(100.0));
        if row.config == "good" {
            self.log.say(if self.side == Side::Base { "b" } else { "n" });
        }
        Ok(if self.side == Side::Base { 100.0 } else { 110.0 })
    }
}

/// Two rounds of two rows, in which one side fails at one of them; what happened, and whether it came to its end.
fn happened(failing: Side, status: Status, times: u32, over_after: u32) -> (Vec<String>, bool) {
    let (log, left, asked) = (Rc::new(Log::default()), Rc::new(Cell::new(times)), Cell::new(0));
    let rows = || {
        [("good", 4096), ("bad", 1024)]
            .map(|(config, n)| LabelledPoint { n, config: config.to_owned() })
            .to_vec()
    };
    let done = run::<Failure>(&mut PairsJob {
        start: &mut |side| {
            log.say("s");
            let (log, left) = (Rc::clone(&log), Rc::clone(&left));
            Ok(Box::new(Fake { side, log, failing, status, left }))
        },
        next: &mut |round| (round < 2).then(|| Round { rows: rows(), quads: 1 }),
        observer: &mut |event| {
            match event {
                PairsEvent::Quad { row, base_ns, new_ns, .. } => {
                    assert_eq!((base_ns, new_ns), ([100.0; 2], [110.0; 2]));
                    log.say(format!("q {}", row.config));
                }
                PairsEvent::Failed { side, failure, row, .. } => {
                    log.say(format!("f {} {side:?} {}", row.config, failure.status.word()));
                }
                _ => {}
            }
            Ok(())
        },
        is_over: &|| {
            asked.set(asked.get() + 1);
            asked.get() > over_after
        },
        seed: 1,
    })
    .unwrap();
    let log = log.0.borrow().clone();
    (log, done)
}

fn count(log: &[String], what: &str) -> usize {
    log.iter().filter(|line| line.as_str() == what).count()
}

#[test]
fn blocks_alternate_and_who_is_first_changes() {
    let (log, done) = happened(Side::New, Status::Ok, 0, 100);
    assert!(done);
    assert_eq!((count(&log, "q good"), count(&log, "q bad"), count(&log, "s")), (2, 2, 4), "{log:?}");
    let blocks: String = log.iter().filter(|line| ["b", "n"].contains(&line.as_str())).cloned().collect();
    let quads = [&blocks[..4], &blocks[4..]];
    assert!(quads.iter().all(|quad| ["bnnb", "nbbn"].contains(quad)), "{quads:?}");
}

#[test]
fn only_what_fails_twice_or_says_so_is_blamed() {
    // Ended once from outside: tried again, and nobody is blamed. Ended twice: it is, once.
    for status in [Status::RuntimeError, Status::Timeout, Status::DeviceLost] {
        let (log, done) = happened(Side::New, status, 1, 100);
        assert!(done && count(&log, "q bad") == 2 && count(&log, "s") == 5, "{status:?}: {log:?}");
        assert!(!log.iter().any(|line| line.starts_with('f')), "{log:?}");
        let (log, _) = happened(Side::New, status, 2, 100);
        assert_eq!(count(&log, &format!("f bad New {}", status.word())), 1, "{log:?}");
        // It takes no part any more; the other row does.
        assert_eq!((count(&log, "q bad"), count(&log, "q good")), (0, 2), "{log:?}");
    }
    // A program that says what is wrong has said it, and goes on.
    for (side, word) in [(Side::Base, "Base"), (Side::New, "New")] {
        let (log, _) = happened(side, Status::WrongResult, 1, 100);
        assert_eq!(count(&log, &format!("f bad {word} wrong_result")), 1, "{log:?}");
        assert_eq!((count(&log, "s"), count(&log, "q good")), (4, 2), "{log:?}");
    }
}

#[test]
fn a_run_that_is_over_blames_nobody() {
    let (log, done) = happened(Side::New, Status::RuntimeError, 9, 0);
    assert!(!done && log.is_empty(), "{log:?}");
    // It ends while a program is gone: that was the end, and no fault of the row.
    for over_after in 1..4 {
        let (log, done) = happened(Side::New, Status::RuntimeError, 1, over_after);
        assert!(!done && !log.iter().any(|line| line.starts_with('f')), "{log:?}");
    }
}
