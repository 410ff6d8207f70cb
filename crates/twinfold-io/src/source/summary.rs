//! What only the whole of a file can tell: its columns, and whether one that is needed is missing.
//!
//! The pieces of a file come in their order, and the first that settles an error ends the run, so the
//! same error is reported however far the threads had read.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::batch::ColumnInfo;
use super::columns::{ROLES, Role};
use super::footer::Columns;
use super::unit::{FileContext, KeysSeen, Piece};
use super::{Format, SourceError};

/// A file that was read.
pub(super) struct Summary {
    /// Its columns in order; `None` when it has none of its own (JSON Lines, no bytes).
    pub(super) info: Option<Arc<[ColumnInfo]>>,
    /// The name chosen for each role.
    pub(super) chosen: [Option<String>; ROLES.len()],
    pub(super) json: bool,
    /// What a Parquet file says beside the types.
    pub(super) columns: Option<Arc<Columns>>,
}

/// A file while its pieces are put together.
pub(super) struct Whole<'f> {
    file: &'f FileContext<'f>,
    columns: Option<Arc<Columns>>,
    info: Option<Arc<[ColumnInfo]>>,
    records: u64,
    keys: KeysSeen,
    names: BTreeSet<String>,
    /// The first document without an id.
    missing: Option<u64>,
}

impl<'f> Whole<'f> {
    pub(super) fn new(file: &'f FileContext<'f>, columns: Option<Arc<Columns>>) -> Self {
        Self {
            file,
            info: columns.as_ref().map(|columns| columns.info.clone()),
            columns,
            records: 0,
            keys: KeysSeen::default(),
            names: BTreeSet::new(),
            missing: None,
        }
    }

    /// Takes in the next piece, and numbers its records.
    pub(super) fn add(&mut self, piece: &mut Piece) -> Result<(), SourceError> {
        match &piece.keys {
            Some(keys) => self.merge(keys)?,
            None => self.info = self.info.take().or_else(|| Some(piece.batch.info.clone())),
        }
        if self.file.format != Format::Parquet {
            piece.batch.records.shift(self.records + 1);
        }
        self.records += piece.records;
        if !self.file.make_ids {
            let first = |piece: &Piece| {
                piece
                    .batch
                    .missing_id()
                    .map(|row| piece.batch.places.get(row))
            };
            self.missing = self.missing.or_else(|| first(piece));
            let id = Role::Id as usize;
            if let Some(number) = self.missing
                && (piece.keys.is_none() || self.keys.first[id] || self.keys.second[id])
            {
                return Err(SourceError::MissingId {
                    path: self.file.name.into(),
                    place: self.file.place(number),
                });
            }
        }
        Ok(())
    }

    fn merge(&mut self, keys: &KeysSeen) -> Result<(), SourceError> {
        self.keys.objects |= keys.objects;
        self.names.extend(keys.names.iter().cloned());
        for role in ROLES {
            let i = role as usize;
            self.keys.first[i] |= keys.first[i];
            self.keys.second[i] |= keys.second[i];
            if self.keys.first[i] && self.keys.second[i] {
                let [first, second, ..] = role.defaults() else {
                    continue;
                };
                return Err(SourceError::AmbiguousColumn {
                    path: self.file.name.into(),
                    role: role.name(),
                    first,
                    second,
                });
            }
        }
        Ok(())
    }

    /// All pieces are in.
    pub(super) fn summary(self) -> Result<Summary, SourceError> {
        let columns = self.file.columns;
        let json = self.file.format == Format::JsonLines;
        let chosen = if json {
            let found = ROLES.map(|role| {
                let i = role as usize;
                if self.keys.first[i] {
                    Some(0)
                } else {
                    self.keys.second[i].then_some(1)
                }
            });
            if self.keys.objects {
                let names: Vec<String> = self.names.into_iter().collect();
                columns.check(&found, self.file.make_ids, self.file.name, &names)?;
            }
            ROLES.map(|role| Some(columns.wanted(role)[found[role as usize]?].to_string()))
        } else {
            let info = self.info.as_deref().unwrap_or_default();
            let found = columns.choose(&|name| info.iter().position(|column| column.name == name));
            found.map(|column| column.map(|column| info[column].name.clone()))
        };
        Ok(Summary {
            info: self.info,
            chosen,
            json,
            columns: self.columns,
        })
    }
}
