//! A table of read documents as the library sees it.

use std::borrow::Cow;

use twinfold::document::{VisitTexts, Wanted};
use twinfold::{DocId, Documents, Value};

use crate::source::{ColumnValue, Table};

impl Documents for Table {
    fn len(&self) -> usize {
        Table::len(self)
    }

    fn id(&self, document: DocId) -> &str {
        Table::id(self, document.index())
    }

    fn for_each_text(&self, wanted: &Wanted<'_>, visit: &VisitTexts<'_>) {
        Table::visit_texts(self, wanted, visit);
    }

    fn title(&self, document: DocId) -> Option<Cow<'_, str>> {
        Table::title(self, document.index()).map(Cow::Borrowed)
    }

    fn column(&self, name: &str) -> Option<Vec<Value>> {
        type Role = for<'a> fn(&'a Table, usize) -> Option<&'a str>;
        let role: Option<(bool, Role)> = match name {
            "title" => Some((self.has_title(), Table::title)),
            "source" => Some((self.has_source(), Table::source)),
            "domain" => Some((self.has_domain(), Table::domain)),
            "crawled_at" => Some((self.has_date(), Table::date)),
            _ => None,
        };
        if let Some((true, value)) = role {
            let value = |rank| value(self, rank).map(|text| Value::Text(text.to_owned()));
            return Some(
                (0..Table::len(self))
                    .map(|rank| value(rank).unwrap_or(Value::Null))
                    .collect(),
            );
        }
        let values = self.column_values(name)?;
        Some(
            values
                .into_iter()
                .map(|value| match value {
                    ColumnValue::Null => Value::Null,
                    ColumnValue::Integer(number) => Value::Integer(number),
                    ColumnValue::Float(number) => Value::Float(number),
                    ColumnValue::Text(text) => Value::Text(text),
                    ColumnValue::Time(micros) => Value::Time(micros),
                })
                .collect(),
        )
    }

    fn column_names(&self) -> Vec<String> {
        Table::column_names(self)
    }
}
