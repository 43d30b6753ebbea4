//! The page, served on loopback to who knows the token, and the one socket of it.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Message, WebSocket};

use crate::error::BrowserError;
use crate::hello::Hello;
use crate::link::{decode, encode};

/// What a browser gets for the address.
const HTML: &str = include_str!("../../../web/page/page.html");
/// The script of it, compiled from `web/page/page.ts`; a test compares the two.
const SCRIPT: &str = include_str!("../../../web/page/page.js");
/// Bytes of the head of a request: browsers send less.
const HEAD_BYTES: usize = 16 << 10;
/// How long a browser may take to say what it wants, and who it is.
const PATIENCE: Duration = Duration::from_secs(20);
/// What nobody but the page may do with what it is: it is a whole, and reaches nothing but this program.
const SECURITY: &str = "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\
     Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Embedder-Policy: require-corp\r\n\
     Cross-Origin-Resource-Policy: same-origin\r\n";

/// The version of the page: who has another one speaks another language.
pub fn page_version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let mut hasher = blake3::Hasher::new();
        hasher.update(HTML.as_bytes()).update(SCRIPT.as_bytes());
        format!("{}-{}", env!("CARGO_PKG_VERSION"), &hasher.finalize().to_hex()[..12])
    });
    &VERSION
}

/// Where the page is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Port on 127.0.0.1.
    pub port: u16,
    /// Who knows it is let in.
    pub token: String,
}

impl Address {
    /// What processes tell each other: [`Self::parse`] reads it.
    #[must_use]
    pub fn to_word(&self) -> String {
        format!("{}:{}", self.port, self.token)
    }

    /// Reads [`Self::to_word`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let (port, token) = word.split_once(':')?;
        let is_token = token.len() >= 16 && token.bytes().all(|byte| byte.is_ascii_alphanumeric());
        Some(Self { port: port.parse().ok()?, token: is_token.then(|| token.to_owned())? })
    }

    /// A port that is free now, and a new token.
    ///
    /// # Errors
    /// When there is no free port.
    pub fn new() -> io::Result<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let mut token = [0; 16];
        getrandom::fill(&mut token).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self { port, token: format!("{:032x}", u128::from_ne_bytes(token)) })
    }

    /// What a browser opens.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.port, self.token)
    }
}

/// A page that is connected, has the right version and token, and has said who it is.
pub struct OpenPage {
    /// Its socket.
    pub socket: WebSocket<TcpStream>,
    /// What it said first.
    pub hello: Hello,
    /// As long as it has this, no other page may come.
    pub place: PagePlace,
}

/// The place of the one page. Another one may come when it is dropped.
pub struct PagePlace(Arc<AtomicBool>);

impl Drop for PagePlace {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// What serves the page. It ends when this is dropped.
pub struct PageServer {
    address: Address,
    pages: Receiver<OpenPage>,
    over: Arc<AtomicBool>,
}

impl PageServer {
    /// Begins to serve: at this address, or a new one.
    ///
    /// # Errors
    /// When the system does not allow it, or the port is taken.
    pub fn start(address: Option<&Address>) -> Result<Self, BrowserError> {
        let address = match address {
            Some(address) => address.clone(),
            None => Address::new().map_err(BrowserError::Serve)?,
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, address.port)).map_err(BrowserError::Serve)?;
        let (sender, pages) = channel();
        let over = Arc::new(AtomicBool::new(false));
        let served = Served { token: address.token.clone(), taken: Arc::default(), sender };
        let is_over = Arc::clone(&over);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(stream), served) = (stream, served.clone()) else { continue };
                std::thread::spawn(move || {
                    if let Err(error) = served.serve(stream) {
                        tracing::debug!(%error, "a request of a browser");
                    }
                });
            }
        });
        Ok(Self { address, pages, over })
    }

    /// What a browser opens.
    #[must_use]
    pub fn url(&self) -> String {
        self.address.url()
    }

    /// The page, once it is there; waits at most this long.
    #[must_use]
    pub fn page(&self, limit: Duration) -> Option<OpenPage> {
        self.pages.recv_timeout(limit).ok()
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // What waits for connections hears of it by one.
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.address.port));
        let _ = TcpStream::connect_timeout(&address, Duration::from_secs(1));
    }
}

/// What connections share.
#[derive(Clone)]
struct Served {
    token: String,
    taken: Arc<AtomicBool>,
    sender: Sender<OpenPage>,
}

impl Served {
    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let head = head_of(&mut stream)?;
        let Some(request) = HttpRequest::parse(&head) else {
            return answer(
                &mut stream,
                "400 Bad Request",
                "text/plain",
                "this is not a request of a browser\n",
            );
        };
        if request.query("token") != Some(&self.token) {
            let words = "scanbox: this address has no token, or that of another run; open the one that scanbox prints\n";
            return answer(&mut stream, "403 Forbidden", "text/plain", words);
        }
        match (request.path, request.header("sec-websocket-key")) {
            ("/", _) => {
                let html = HTML.replace("{version}", page_version()).replace("{token}", &self.token);
                answer(&mut stream, "200 OK", "text/html", &html)
            }
            ("/page.js", _) => answer(&mut stream, "200 OK", "text/javascript", SCRIPT),
            ("/socket", Some(key)) => {
                let accept = derive_accept_key(key.as_bytes());
                write!(
                    stream,
                    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                     Sec-WebSocket-Accept: {accept}\r\n\r\n"
                )?;
                self.connect(stream, request.query("version").unwrap_or_default())
            }
            _ => answer(&mut stream, "404 Not Found", "text/plain", "scanbox: nothing is here\n"),
        }
    }

    /// Hands a page on, unless it is one too many, or another one than this program has.
    fn connect(&self, stream: TcpStream, version: &str) -> io::Result<()> {
        let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let mut socket = WebSocket::from_raw_socket(stream, Role::Server, Some(config));
        if version != page_version() {
            let own = page_version();
            return refuse(
                socket,
                &format!("this page is of version `{version}`, and scanbox of {own}: load it again"),
            );
        }
        if self.taken.swap(true, Ordering::SeqCst) {
            return refuse(socket, "another page drives the GPU for this run already: close one of the two");
        }
        let place = PagePlace(Arc::clone(&self.taken));
        let message = socket.read().map_err(io::Error::other)?;
        let hello = match &message {
            Message::Binary(bytes) => decode::<Hello>(bytes).map(|(hello, _)| hello),
            other => Err(format!("its first word is {other}")),
        };
        match hello {
            Ok(hello) => {
                // From here on, whoever waits has the clock.
                socket.get_ref().set_read_timeout(None)?;
                // Nobody may wait any more.
                let _ = self.sender.send(OpenPage { socket, hello, place });
                Ok(())
            }
            Err(why) => {
                drop(place);
                refuse(socket, &format!("this page does not say who it is: {why}"))
            }
        }
    }
}

/// Tells a page why it is not wanted.
fn refuse(mut socket: WebSocket<TcpStream>, why: &str) -> io::Result<()> {
    let word = serde_json::json!({ "refused": format!("scanbox: {why}") });
    socket.send(Message::binary(encode(&word, &[]))).map_err(io::Error::other)?;
    let _ = socket.close(None);
    // Until the page has gone: what was sent to it would be lost otherwise.
    while socket.read().is_ok() {}
    Ok(())
}

fn head_of(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == HEAD_BYTES || stream.read(&mut byte)? == 0 {
            break;
        }
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn answer(stream: &mut TcpStream, status: &str, kind: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n{SECURITY}\r\n{body}"
    )?;
    stream.flush()
}

/// The head of a request, as far as anybody asks.
struct HttpRequest<'a> {
    path: &'a str,
    query: &'a str,
    headers: Vec<(&'a str, &'a str)>,
}

impl<'a> HttpRequest<'a> {
    fn parse(head: &'a str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if method != "GET" || !version.starts_with("HTTP/1.") {
            return None;
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let headers = lines.filter_map(|line| line.split_once(':')).map(|(name, value)| (name, value.trim()));
        Some(Self { path, query, headers: headers.collect() })
    }

    fn query(&self, name: &str) -> Option<&'a str> {
        self.query
            .split('&')
            .filter_map(|part| part.split_once('='))
            .find(|(key, _)| *key == name)
            .map(|(_, v)| v)
    }

    fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_what_its_word_says() {
        let address = Address { port: 4711, token: "0123456789abcdef".to_owned() };
        assert_eq!(Address::parse(&address.to_word()), Some(address));
        for word in ["", "4711", "4711:", "4711:short", "x:0123456789abcdef", "4711:0123456789abcde/"] {
            assert_eq!(Address::parse(word), None, "{word}");
        }
    }

    #[test]
    fn requests_are_read() {
        let request =
            HttpRequest::parse("GET /a?token=x&b=y HTTP/1.1\r\nHost: h\r\nKEY:  v \r\n\r\n").unwrap();
        assert_eq!((request.path, request.query("token"), request.query("c")), ("/a", Some("x"), None));
        assert_eq!((request.header("key"), request.header("other")), (Some("v"), None));
        for head in ["", "GET", "POST / HTTP/1.1\r\n\r\n", "GET / HTTP/2\r\n\r\n"] {
            assert!(HttpRequest::parse(head).is_none(), "{head}");
        }
    }
}
