//! Which column of a file is the id, the text and so on.
//!
//! Guarantee: a column that the user named is there in every file, or the error says what there is
//! and what comes nearest. Without a name, the defaults are tried in order in each file by itself.

use super::SourceError;

/// The names of the columns that the run needs. What isn't named is looked for under its usual name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnNames {
    /// The id of a document. Default: `doc_id`, else `id`.
    pub id: Option<String>,
    /// Its text. Default: `body`, else `text`.
    pub text: Option<String>,
    /// Where it comes from. Default: `source`, if there is one.
    pub source: Option<String>,
    /// Its domain. Default: `domain`, if there is one.
    pub domain: Option<String>,
    /// When it was fetched or written. Default: `crawled_at`, if there is one.
    pub date: Option<String>,
    /// Its title. Default: `title`, if there is one.
    pub title: Option<String>,
}

/// What a column is for. The order is that of the columns in a table of JSON Lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Id,
    Source,
    Domain,
    Date,
    Title,
    Text,
}

/// All roles; `role as usize` is the place in it.
pub(super) const ROLES: [Role; 6] = [
    Role::Id,
    Role::Source,
    Role::Domain,
    Role::Date,
    Role::Title,
    Role::Text,
];

/// For each role, the column that was chosen.
pub(super) type Chosen = [Option<usize>; ROLES.len()];

impl Role {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Source => "source",
            Self::Domain => "domain",
            Self::Date => "date",
            Self::Title => "title",
            Self::Text => "text",
        }
    }

    /// The usual names, the first that is there wins.
    pub(super) fn defaults(self) -> &'static [&'static str] {
        match self {
            Self::Id => &["doc_id", "id"],
            Self::Source => &["source"],
            Self::Domain => &["domain"],
            Self::Date => &["crawled_at"],
            Self::Title => &["title"],
            Self::Text => &["body", "text"],
        }
    }
}

impl ColumnNames {
    /// The name that the user gave.
    pub(super) fn named(&self, role: Role) -> Option<&str> {
        match role {
            Role::Id => &self.id,
            Role::Source => &self.source,
            Role::Domain => &self.domain,
            Role::Date => &self.date,
            Role::Title => &self.title,
            Role::Text => &self.text,
        }
        .as_deref()
    }

    /// The names to look for, in order.
    pub(super) fn wanted(&self, role: Role) -> Vec<&str> {
        match self.named(role) {
            Some(name) => vec![name],
            None => role.defaults().to_vec(),
        }
    }

    /// Whether a file without this column can't be used.
    pub(super) fn required(&self, role: Role, make_ids: bool) -> bool {
        match role {
            Role::Text => true,
            Role::Id => !make_ids,
            _ => self.named(role).is_some(),
        }
    }

    /// The columns for each role; `find` says where a name is.
    pub(super) fn choose(&self, find: &dyn Fn(&str) -> Option<usize>) -> Chosen {
        ROLES.map(|role| self.wanted(role).into_iter().find_map(find))
    }

    /// The error for the first required role that was not found, if any.
    pub(super) fn check(
        &self,
        chosen: &Chosen,
        make_ids: bool,
        path: &str,
        found: &[String],
    ) -> Result<(), SourceError> {
        // Text first: without it nothing makes sense.
        for role in ROLES.into_iter().rev() {
            if chosen[role as usize].is_none() && self.required(role, make_ids) {
                return Err(self.missing(role, path, found));
            }
        }
        Ok(())
    }

    /// The error for a role that was not found.
    pub(super) fn missing(&self, role: Role, path: &str, found: &[String]) -> SourceError {
        let wanted: Vec<String> = self.wanted(role).into_iter().map(String::from).collect();
        let likeness = |name: &String| {
            let name = name.to_lowercase();
            wanted
                .iter()
                .map(|w| strsim::jaro_winkler(&w.to_lowercase(), &name))
                .fold(0.0, f64::max)
        };
        // Below this a suggestion is more confusing than helpful.
        const ALIKE: f64 = 0.7;
        let nearest = found
            .iter()
            .map(|name| (likeness(name), name))
            .filter(|(likeness, _)| *likeness >= ALIKE)
            .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)))
            .map(|(_, name)| name.clone());
        SourceError::MissingColumn {
            path: path.into(),
            role: role.name(),
            wanted,
            found: found.to_vec(),
            nearest,
        }
    }
}

/// Refuses two columns of one name.
pub(super) fn distinct(path: &str, names: &[String]) -> Result<(), SourceError> {
    let mut seen = std::collections::HashMap::new();
    for (i, name) in names.iter().enumerate() {
        if let Some(first) = seen.insert(name.as_str(), i) {
            return Err(SourceError::DuplicateColumn {
                path: path.into(),
                name: name.clone(),
                first: first + 1,
                second: i + 1,
            });
        }
    }
    Ok(())
}
