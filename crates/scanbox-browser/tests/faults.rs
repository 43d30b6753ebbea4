//! What a page may do instead of what it was asked for.

use scanbox_browser::driver::PageDriver;
use scanbox_browser::server::{PageServer, page_version};
use scanbox_model::record::Status;
use scanbox_runner::backend::Failure;
use scanbox_runner::webgpu::work::{DeviceDriver, DeviceWork};
use serde_json::{Value, json};
use tungstenite::Message;

use crate::fake_page::{FakePage, connected, hello};

/// What comes of a request to a page that answers `open` and the first buffer, and then so.
fn outcome(
    answer: impl FnOnce(&mut FakePage) + Send + 'static,
) -> (Result<Vec<u64>, Failure>, Result<(), Failure>) {
    let server = PageServer::start(None).unwrap();
    let (mut fake, page) = connected(&server, &hello());
    let played = std::thread::spawn(move || {
        for op in ["open", "buffer"] {
            assert_eq!(fake.hear().unwrap().0["op"], op);
            fake.say(&json!({}), &[]);
        }
        assert_eq!(fake.hear().unwrap().0["op"], "run");
        answer(&mut fake);
        // Whatever is asked then, it is not there.
    });
    let mut driver = PageDriver::open(page, server, None).unwrap();
    let buffer = driver.buffer("scratch", 100).unwrap();
    assert_eq!(buffer.bytes, 256);
    let mut work = DeviceWork::default();
    work.timed(Vec::new());
    work.fetch(buffer.at(0, 8));
    let done = driver.run(&work).map(|done| done.spans.iter().map(|span| span.end - span.begin).collect());
    played.join().unwrap();
    (done, driver.write(&buffer, 0, &[1]))
}

#[test]
fn what_a_page_answers_is_believed_where_it_can_be() {
    let (done, next) = outcome(|page| page.say(&json!({ "took_ms": 1.5 }), &[1, 2, 5, 0, 12, 0]));
    assert_eq!(done, Ok(vec![7]));
    // It went away behind its answer.
    assert_eq!(next.unwrap_err().status, Status::DeviceLost);
}

#[test]
fn what_a_page_says_is_wrong_is_a_failure_in_its_words() {
    for (kind, status) in [
        ("lost", Status::DeviceLost),
        ("memory", Status::OutOfMemory),
        ("invalid", Status::RuntimeError),
        ("internal", Status::RuntimeError),
        ("shader", Status::CompileError),
    ] {
        let failed = json!({ "failed": { "kind": kind, "words": "the device\n was not\n amused" } });
        let failure = outcome(move |page| page.say(&failed, &[])).0.unwrap_err();
        assert_eq!(failure.status, status, "{kind}");
        assert_eq!(failure.reason, "Dawn: the device was not amused");
    }
    let zero = outcome(|page| page.say(&json!({ "took_ms": 1 }), &[1, 2, 0, 0, 0, 0])).0.unwrap_err();
    assert_eq!(zero.status, Status::RuntimeError);
    assert!(zero.reason.starts_with("Dawn: a pass has no timestamps"), "{}", zero.reason);
}

#[test]
fn nonsense_ends_a_session() {
    type Answer = Box<dyn FnOnce(&mut FakePage) + Send>;
    let say = |text: Value, words: &'static [u32]| -> Answer {
        Box::new(move |page: &mut FakePage| page.say(&text, words))
    };
    let raw = |message: Message| -> Answer { Box::new(move |page: &mut FakePage| page.say_raw(message)) };
    let answers: [(&str, Answer); 9] = [
        ("an empty answer", say(json!({}), &[])),
        ("a list", say(json!([1, 2]), &[])),
        ("no time", say(json!({ "took_ms": -1 }), &[1, 2, 5, 0, 12, 0])),
        ("too few words", say(json!({ "took_ms": 1 }), &[1, 2, 5, 0, 12])),
        ("no words", say(json!({ "took_ms": 1 }), &[])),
        ("a failure of no kind", say(json!({ "failed": { "kind": "tired", "words": "" } }), &[])),
        ("a text", raw(Message::text("hello"))),
        ("half a word", raw(Message::binary(vec![1, 2, 3]))),
        ("a length of another frame", raw(Message::binary(vec![255; 64]))),
    ];
    for (what, answer) in answers {
        let failure = outcome(answer).0.unwrap_err();
        assert_eq!(failure.status, Status::DeviceLost, "{what}: {}", failure.reason);
        let begin = "the page of the browser sent an answer that cannot be read";
        assert!(
            failure.reason.starts_with(begin) && failure.reason.len() < 400,
            "{what}: {}",
            failure.reason
        );
    }
    let gone = outcome(|_| {}).0.unwrap_err();
    assert_eq!(gone.status, Status::DeviceLost);
    assert!(gone.reason.starts_with("the page of the browser is gone"), "{}", gone.reason);
}

#[test]
fn a_second_page_is_refused_while_the_device_is_open() {
    let server = PageServer::start(None).unwrap();
    let url = server.url();
    let (mut fake, page) = connected(&server, &hello());
    let played = std::thread::spawn(move || {
        assert_eq!(fake.hear().unwrap().0["op"], "open");
        fake.say(&json!({}), &[]);
        fake
    });
    let driver = PageDriver::open(page, server, None).unwrap();
    let _first = played.join().unwrap();
    let refused = FakePage::at(&url, page_version()).hear().unwrap().0["refused"].to_string();
    assert!(refused.contains("another page drives the GPU"), "{refused}");
    drop(driver);
}

#[test]
fn a_device_that_does_not_open_says_why() {
    let server = PageServer::start(None).unwrap();
    let (mut fake, page) = connected(&server, &hello());
    let played = std::thread::spawn(move || {
        assert_eq!(fake.hear().unwrap().0["op"], "open");
        fake.say(&json!({ "failed": { "kind": "lost", "words": "no device" } }), &[]);
    });
    let failure = PageDriver::open(page, server, None).map(drop).unwrap_err();
    played.join().unwrap();
    assert_eq!((failure.status, failure.reason.as_str()), (Status::DeviceLost, "Dawn: no device"));
}
