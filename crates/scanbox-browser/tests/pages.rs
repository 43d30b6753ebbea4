//! Who may be the page, and what a device is by what a page says of it.

use scanbox_browser::server::{PageServer, page_version};
use scanbox_model::device::DeviceKind;
use scanbox_model::timer::Timer;
use serde_json::{Value, json};

use crate::fake_page::{FakePage, PATIENCE, connected, get, hello};

#[test]
fn the_page_is_for_who_knows_the_token() {
    let server = PageServer::start(None).unwrap();
    let url = server.url();
    let page = get(&url);
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains(page_version()), "{page}");
    assert!(page.contains("Cross-Origin-Opener-Policy: same-origin"), "{page}");
    let script = get(&url.replace("/?", "/page.js?"));
    assert!(script.contains("text/javascript") && script.contains("new WebSocket("), "{script}");
    let (place, token) = url.split_once("/?token=").unwrap();
    for target in ["/", "/page.js", "/socket", "/?token=", "/?token=0123456789abcdef0123456789abcdef"] {
        let answer = get(&format!("{place}{target}"));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{target}: {answer}");
        assert!(answer.contains("open the one that scanbox prints") && !answer.contains(token), "{answer}");
    }
    assert!(get(&format!("{place}/other?token={token}")).starts_with("HTTP/1.1 404 "));
    assert!(server.page(std::time::Duration::ZERO).is_none());
}

#[test]
fn what_is_no_page_of_this_program_is_refused_in_words() {
    let server = PageServer::start(None).unwrap();
    let refusal = |mut page: FakePage| page.hear().unwrap().0["refused"].as_str().unwrap().to_owned();
    let old = refusal(FakePage::connect(&server, "0.1.0-abc"));
    assert!(
        old.contains("`0.1.0-abc`") && old.contains(page_version()) && old.contains("load it again"),
        "{old}"
    );
    let mut mute = FakePage::connect(&server, page_version());
    mute.say(&json!({ "agent": 7 }), &[]);
    let mute = refusal(mute);
    assert!(mute.contains("does not say who it is"), "{mute}");
    // Neither has taken the place of the page, and only one can have it.
    let (first, open) = connected(&server, &hello());
    let second = refusal(FakePage::connect(&server, page_version()));
    assert!(second.contains("another page drives the GPU"), "{second}");
    drop((first, open));
    assert!(server.page(std::time::Duration::ZERO).is_none());
    let (_third, _open) = connected(&server, &hello());
}

#[test]
fn an_address_is_free_again_when_its_server_has_ended() {
    let address = scanbox_browser::server::Address::new().unwrap();
    for _ in 0..3 {
        let server = PageServer::start(Some(&address)).unwrap();
        assert!(PageServer::start(Some(&address)).is_err(), "two at one address");
        let (_fake, page) = connected(&server, &hello());
        drop(page);
        drop(server);
        // The thread that listens may need a moment.
        let begin = std::time::Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", address.port)).is_ok() {
            assert!(begin.elapsed() < PATIENCE);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

#[test]
fn a_device_is_what_its_page_says() {
    let server = PageServer::start(None).unwrap();
    let listed = |hello: &Value| connected(&server, hello).1.hello.listed();
    let device = listed(&hello()).unwrap();
    assert!(device.is_usable());
    let profile = device.profile;
    assert_eq!(profile.implementation, "Dawn (Chromium 156.0.8078.79, Vulkan)");
    assert_eq!(
        (profile.name.as_str(), profile.driver.as_str()),
        ("SwiftShader Device", "SwiftShader driver 5.0.0")
    );
    assert_eq!((profile.kind, profile.device_id), (DeviceKind::Software, 0xc0de));
    assert_eq!((profile.min_subgroup_size, profile.max_subgroup_size), (4, 8));
    assert_eq!((profile.max_workgroup_size, profile.max_storage_buffer_bytes), (256, 1 << 28));
    assert_eq!((profile.timer, profile.robustness), (Timer::Timestamps, Some(true)));

    let mut plain = hello();
    plain["adapter"]["features"] = json!([]);
    plain["adapter"]["info"] = json!({ "vendor": "apple", "architecture": "" });
    plain["brands"] = json!([]);
    plain["agent"] = json!("Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 Version/26.1 Safari/605.1.15");
    let profile = listed(&plain).unwrap().profile;
    assert_eq!((profile.timer, profile.max_subgroup_size), (Timer::Wall, 1));
    assert_eq!((profile.name.as_str(), profile.kind), ("apple", DeviceKind::Hardware));
    assert_eq!(profile.implementation, "WebKit (Safari 26.1)");

    let mut small = hello();
    small["adapter"]["limits"]["maxStorageBuffersPerShaderStage"] = json!(4);
    assert_eq!(listed(&small).unwrap().problems, ["binds 4 storage buffers, and 6 are needed"]);

    let mut none = hello();
    (none["adapter"], none["why"]) = (Value::Null, json!("WebGPU of this browser finds no adapter"));
    let error = listed(&none).unwrap_err();
    assert!(error.is_no_device());
    assert!(
        error.to_string().starts_with("Chromium 156.0.8078.79: WebGPU of this browser finds no"),
        "{error}"
    );

    for limit in [json!(-1), json!(0.5), Value::Null] {
        let mut nonsense = hello();
        nonsense["adapter"]["limits"]["maxBufferSize"] = limit.clone();
        let is_nonsense = match nonsense["adapter"]["limits"].as_object_mut() {
            // A limit that is not there at all.
            Some(limits) if limit.is_null() => limits.remove("maxBufferSize").is_some(),
            _ => true,
        };
        assert!(is_nonsense);
        let error = listed(&nonsense).unwrap_err().to_string();
        assert!(error.contains("its limit maxBufferSize is"), "{error}");
    }
}
