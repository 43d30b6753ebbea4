//! Requests to the page and its answers: text and words in one frame (see `web/page/page.ts`).

use std::net::TcpStream;

use scanbox_model::record::Status;
use scanbox_runner::backend::Failure;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tungstenite::{Message, WebSocket};

/// Bytes of a word.
const WORD: usize = 4;

/// Why something did not happen, in the words of the browser.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PageFailure {
    kind: PageFailureKind,
    words: String,
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PageFailureKind {
    Lost,
    Memory,
    Invalid,
    Internal,
    Shader,
}

impl PageFailure {
    /// The same for rows, said by this implementation.
    #[must_use]
    pub fn told_by(self, engine: &str) -> Failure {
        let status = match self.kind {
            PageFailureKind::Lost => Status::DeviceLost,
            PageFailureKind::Memory => Status::OutOfMemory,
            PageFailureKind::Invalid | PageFailureKind::Internal => Status::RuntimeError,
            PageFailureKind::Shader => Status::CompileError,
        };
        let words = self.words.split_whitespace().collect::<Vec<_>>().join(" ");
        Failure::new(status, format!("{engine}: {words}"))
    }
}

/// What comes back: what was asked for, or why not.
#[derive(Deserialize)]
#[serde(untagged)]
enum PageAnswer<T> {
    Failed { failed: PageFailure },
    Done(T),
}

/// The one page, which answers one request after the other.
pub struct PageLink {
    socket: WebSocket<TcpStream>,
    /// Who speaks where the browser says what is wrong.
    engine: String,
}

impl PageLink {
    /// A page that is connected.
    #[must_use]
    pub fn new(socket: WebSocket<TcpStream>, engine: &str) -> Self {
        Self { socket, engine: engine.to_owned() }
    }

    /// Asks for something, and waits for the answer.
    ///
    /// # Errors
    /// What the page says; `device_lost` when it is gone, or answers what is no answer.
    pub fn ask<T: DeserializeOwned>(
        &mut self,
        request: &impl Serialize,
        words: &[u32],
    ) -> Result<(T, Vec<u32>), Failure> {
        let gone = |error: tungstenite::Error| {
            Failure::new(Status::DeviceLost, format!("the page of the browser is gone: {error}"))
        };
        self.socket.send(Message::binary(encode(request, words))).map_err(gone)?;
        let bytes = loop {
            match self.socket.read().map_err(gone)? {
                Message::Binary(bytes) => break bytes,
                Message::Ping(_) | Message::Pong(_) => {}
                Message::Close(_) => return Err(gone(tungstenite::Error::ConnectionClosed)),
                other => return Err(no_answer(&format!("the text `{other}`"))),
            }
        };
        let (answer, words) = decode::<PageAnswer<T>>(&bytes).map_err(|why| no_answer(&why))?;
        match answer {
            PageAnswer::Done(done) => Ok((done, words)),
            PageAnswer::Failed { failed } => Err(failed.told_by(&self.engine)),
        }
    }

    /// Who speaks where the browser says what is wrong.
    #[must_use]
    pub fn engine(&self) -> &str {
        &self.engine
    }
}

/// A page that answers what is no answer is not believed again.
pub fn no_answer(what: &str) -> Failure {
    let what: String = what.chars().take(200).collect();
    Failure::new(
        Status::DeviceLost,
        format!("the page of the browser sent an answer that cannot be read: {what}"),
    )
}

/// A frame of this text and these words.
pub fn encode(text: &impl Serialize, words: &[u32]) -> Vec<u8> {
    let mut text = serde_json::to_vec(text).expect("requests have texts as keys");
    text.resize(text.len().next_multiple_of(WORD), b' ');
    let mut frame = Vec::with_capacity(WORD + text.len() + words.len() * WORD);
    frame.extend_from_slice(&(text.len() as u32).to_le_bytes());
    frame.extend_from_slice(&text);
    words.iter().for_each(|word| frame.extend_from_slice(&word.to_le_bytes()));
    frame
}

/// What a frame says, and its words.
///
/// # Errors
/// What is wrong with it.
pub fn decode<T: DeserializeOwned>(frame: &[u8]) -> Result<(T, Vec<u32>), String> {
    let (length, rest) = frame.split_first_chunk::<WORD>().ok_or("a frame without a length")?;
    let length = u32::from_le_bytes(*length) as usize;
    let (text, words) = rest.split_at_checked(length).ok_or("a frame that is shorter than it says")?;
    if !words.len().is_multiple_of(WORD) {
        return Err("a frame that ends amid a word".to_owned());
    }
    let said = serde_json::from_slice(text).map_err(|error| {
        let text = String::from_utf8_lossy(text);
        format!("{error}: {}", text.trim_end())
    })?;
    let words = words.chunks_exact(WORD).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    Ok((said, words.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_they_were_written() {
        let said = serde_json::json!({ "op": "write", "to": [1, 256] });
        for words in [&[][..], &[0, 1, u32::MAX]] {
            let frame = encode(&said, words);
            assert!(frame.len().is_multiple_of(WORD));
            assert_eq!(decode::<serde_json::Value>(&frame), Ok((said.clone(), words.to_vec())));
            // What is cut off is no frame.
            for length in (0..frame.len()).filter(|length| length % WORD != 0 || *length <= WORD) {
                assert!(decode::<serde_json::Value>(&frame[..length]).is_err(), "{length} bytes");
            }
        }
        assert!(decode::<serde_json::Value>(&encode(&said, &[])[..8]).is_err());
    }
}
