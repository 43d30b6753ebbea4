//! A page that says what a test wants it to say.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use scanbox_browser::link::{decode, encode};
use scanbox_browser::server::{OpenPage, PageServer, page_version};
use serde_json::{Value, json};
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};

/// How long what has to happen may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// One side of a socket.
pub struct FakePage(WebSocket<MaybeTlsStream<TcpStream>>);

impl FakePage {
    /// Opens the socket of a server, as a page of this version would.
    pub fn connect(server: &PageServer, version: &str) -> Self {
        Self::at(&server.url(), version)
    }

    /// The same where only the address is known.
    pub fn at(url: &str, version: &str) -> Self {
        let url = url.replace("http:", "ws:").replace("/?", "/socket?");
        let (socket, _) = tungstenite::connect(format!("{url}&version={version}")).unwrap();
        Self(socket)
    }

    /// Says something, with words.
    pub fn say(&mut self, text: &Value, words: &[u32]) {
        self.0.send(Message::binary(encode(text, words))).unwrap();
    }

    /// Says something that is no frame.
    pub fn say_raw(&mut self, message: Message) {
        self.0.send(message).unwrap();
    }

    /// What it is told next, with words; `None` when nobody is there any more.
    pub fn hear(&mut self) -> Option<(Value, Vec<u32>)> {
        match self.0.read() {
            Ok(Message::Binary(bytes)) => Some(decode(&bytes).unwrap()),
            _ => None,
        }
    }
}

/// What the page of a browser says first, whose adapter has what kernels need.
pub fn hello() -> Value {
    json!({
        "agent": "Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/156.0.0.0 Safari/537.36",
        "brands": [{ "brand": "Not:A-Brand", "version": "8" }, { "brand": "Chromium", "version": "156.0.8078.79" }],
        "adapter": {
            "info": {
                "vendor": "google", "architecture": "swiftshader", "device": "0xc0de",
                "description": "SwiftShader Device", "subgroupMinSize": 4, "subgroupMaxSize": 8,
                "isFallbackAdapter": true, "backend": "vulkan", "driver": "SwiftShader driver 5.0.0"
            },
            "limits": {
                "maxBufferSize": 1u64 << 30, "maxStorageBufferBindingSize": 1u64 << 28,
                "maxStorageBuffersPerShaderStage": 10, "maxComputeWorkgroupStorageSize": 32768,
                "maxComputeInvocationsPerWorkgroup": 512, "maxComputeWorkgroupSizeX": 256,
                "maxComputeWorkgroupsPerDimension": 65535
            },
            "features": ["timestamp-query", "subgroups"]
        },
        "why": ""
    })
}

/// A page that is connected and has said this.
pub fn connected(server: &PageServer, hello: &Value) -> (FakePage, OpenPage) {
    let mut fake = FakePage::connect(server, page_version());
    fake.say(hello, &[]);
    (fake, server.page(PATIENCE).unwrap())
}

/// What a plain request of HTTP gets.
pub fn get(url: &str) -> String {
    let (host, target) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{target} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
