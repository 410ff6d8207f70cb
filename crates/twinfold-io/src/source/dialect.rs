//! How the fields and records of a CSV file are told apart.

use std::fmt;
use std::str::FromStr;

/// What stands between the fields of a CSV file: one ASCII character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Delimiter(pub(super) u8);

impl Delimiter {
    pub(super) const COMMA: Self = Self(b',');
    pub(super) const TAB: Self = Self(b'\t');

    /// What files that are no comma-separated ones are usually separated by.
    pub(super) const USUAL: [Self; 5] = [
        Self(b';'),
        Self::TAB,
        Self(b'|'),
        Self::COMMA,
        // The default of Hive.
        Self(1),
    ];

    /// A delimiter that can be told from quotes, line ends and the parts of other characters.
    pub(super) fn new(byte: u8) -> Option<Self> {
        let usable = byte.is_ascii() && !matches!(byte, 0 | b'"' | b'\n' | b'\r');
        usable.then_some(Self(byte))
    }
}

/// A text that is no [`Delimiter`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a delimiter; it is one ASCII character such as ; or |, or tab, or a byte such as \\x01, and neither a quote nor a line end"
)]
pub struct UnknownDelimiter(pub String);

impl FromStr for Delimiter {
    type Err = UnknownDelimiter;

    fn from_str(text: &str) -> Result<Self, UnknownDelimiter> {
        let byte = match text.as_bytes() {
            &[byte] => Some(byte),
            b"tab" | b"\\t" => Some(b'\t'),
            [b'\\', b'x', hex @ ..] if hex.len() == 2 => std::str::from_utf8(hex)
                .ok()
                .filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
                .and_then(|hex| u8::from_str_radix(hex, 16).ok()),
            _ => None,
        };
        byte.and_then(Self::new)
            .ok_or_else(|| UnknownDelimiter(text.into()))
    }
}

/// As [`FromStr`] reads it.
impl fmt::Display for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b'\t' => f.write_str("tab"),
            byte if byte.is_ascii_control() => write!(f, "\\x{byte:02x}"),
            byte => write!(f, "{}", byte as char),
        }
    }
}

/// What a `"` at the beginning of a field means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Quotes {
    /// It opens a quoted field. Lines that are taken by it and look like records of their own speak
    /// against that, and so its line is rejected, and the others are read.
    #[default]
    Auto,
    /// It opens a quoted field, whatever the lines look like that it takes.
    Always,
    /// It is a character like any other.
    Never,
}

/// A text that is no [`Quotes`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a way to quote; there are: auto, \" and none")]
pub struct UnknownQuotes(pub String);

impl FromStr for Quotes {
    type Err = UnknownQuotes;

    fn from_str(text: &str) -> Result<Self, UnknownQuotes> {
        match text {
            "auto" => Ok(Self::Auto),
            "\"" => Ok(Self::Always),
            "none" => Ok(Self::Never),
            _ => Err(UnknownQuotes(text.into())),
        }
    }
}

/// As [`FromStr`] reads it.
impl fmt::Display for Quotes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Always => "\"",
            Self::Never => "none",
        })
    }
}

/// How a CSV file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(super) delimiter: u8,
    pub(super) quotes: Quotes,
    /// Whether the user said what the delimiter is, and not the name of the file.
    pub(super) named: bool,
}

impl Dialect {
    /// That of a file whose name tells the delimiter.
    pub(super) fn new(delimiter: Delimiter) -> Self {
        Self {
            delimiter: delimiter.0,
            quotes: Quotes::default(),
            named: false,
        }
    }

    /// What the user said goes before what the name tells.
    pub(super) fn with(mut self, delimiter: Option<Delimiter>, quotes: Quotes) -> Self {
        if let Some(delimiter) = delimiter {
            (self.delimiter, self.named) = (delimiter.0, true);
        }
        self.quotes = quotes;
        self
    }
}
