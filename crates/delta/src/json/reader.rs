//! Streams events out of the Go tool's JSON, whatever its size.

use crate::error::{Error, InFile, Result};
use crate::event::Change;
use crate::json::Compression;
use crate::json::codec::decompress;
use crate::json::event::Fields;
use crate::json::text::{Cursor, Stop};
use crate::json::window::Window;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The Go tool's delta, read one event at a time. Whoever reads to the end has checked its digest.
pub struct JsonReader {
    window: Window<Box<dyn Read + Send>>,
    fields: Fields,
    state: State,
}

/// An event that borrows from the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonEvent<'a> {
    /// The event itself, checked.
    pub change: Change<'a>,
    /// When the Go tool got it, Unix milliseconds.
    pub arrived_ms: i64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Front,
    /// Behind an event: a comma or the end of the array follows.
    Between,
    Done,
}

/// What stands at the window's front.
enum Step {
    Event(usize),
    End(usize),
}

impl JsonReader {
    /// Opens a file whose compression is known.
    pub fn open(path: &Path, compression: Compression) -> Result<Self> {
        let file = File::open(path)
            .map_err(Error::io("open"))
            .in_file("open", path)?;
        Ok(Self::new(decompress(file, compression)))
    }

    /// Reads decompressed bytes: the JSON and its digest.
    pub fn new(source: Box<dyn Read + Send>) -> Self {
        Self {
            window: Window::new(source),
            fields: Fields::default(),
            state: State::Front,
        }
    }

    /// Bytes of JSON read so far, for progress.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.window.position()
    }

    /// The next event, or `None` at the end, when the digest has been compared.
    pub fn next_event(&mut self) -> Result<Option<JsonEvent<'_>>> {
        if self.state == State::Done {
            return Ok(None);
        }
        let step = loop {
            match self.step() {
                Ok(step) => break step,
                Err(Stop::Wrong(what, at)) => return Err(self.wrong(what, at)),
                Err(Stop::More) => {
                    let before = self.window.json().len();
                    if !self.window.refill()? || self.window.json().len() <= before {
                        return Err(self.cut_off());
                    }
                }
            }
        };
        match step {
            Step::End(bytes) => {
                self.window.consume(bytes);
                self.state = State::Done;
                self.window.finish().map(|()| None)
            }
            Step::Event(bytes) => {
                let at = self.window.position();
                self.window.consume(bytes);
                self.state = State::Between;
                event(&self.fields, at).map(Some)
            }
        }
    }

    /// The last event that [`JsonReader::next_event`] gave.
    pub(crate) fn last_event(&self) -> Result<JsonEvent<'_>> {
        event(&self.fields, self.window.position())
    }

    fn step(&mut self) -> Result<Step, Stop> {
        let mut cursor = Cursor::new(self.window.json());
        if self.state == State::Front {
            cursor.expect(b'[', "expected an array of events")?;
        } else {
            match cursor.take()? {
                b']' => return Ok(Step::End(cursor.at())),
                b',' => {}
                _ => {
                    return cursor
                        .wrong("expected a comma or the end of the array before this byte");
                }
            }
        }
        self.fields.read(&mut cursor)?;
        Ok(Step::Event(cursor.at()))
    }

    #[cold]
    fn wrong(&self, what: &str, at: usize) -> Error {
        let position = self.window.position().saturating_add(at as u64);
        Error::corrupt(format!("JSON: {what}, at byte {position}"))
    }

    #[cold]
    fn cut_off(&self) -> Error {
        Error::truncated(format!(
            "JSON: it ends inside the array, behind byte {}",
            self.window.position()
        ))
    }
}

fn event(fields: &Fields, at: u64) -> Result<JsonEvent<'_>> {
    let change = fields.change().map_err(|other| {
        Error::Unsupported(format!(
            "JSON: event type {other} at byte {at} is neither PUT nor DELETE"
        ))
    })?;
    change
        .check()
        .map_err(|error| Error::corrupt(format!("JSON: event at byte {at}: {error}")))?;
    Ok(JsonEvent {
        change,
        arrived_ms: fields.arrived_ms,
    })
}
