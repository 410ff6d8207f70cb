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
        if let Some(value) = role(self, name) {
            return Some((0..Table::len(self)).map(value).collect());
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

    fn for_each_value(&self, name: &str, visit: &mut dyn FnMut(Value)) -> bool {
        if let Some(value) = role(self, name) {
            (0..Table::len(self)).map(value).for_each(visit);
            return true;
        }
        let values = self.column(name);
        let found = values.is_some();
        values.into_iter().flatten().for_each(visit);
        found
    }

    fn column_names(&self) -> Vec<String> {
        Table::column_names(self)
    }
}

/// The values of the column that has a part, by rank, if `name` is that of a part and there is one.
fn role<'a>(table: &'a Table, name: &str) -> Option<impl Fn(usize) -> Value + use<'a>> {
    type Role = for<'a> fn(&'a Table, usize) -> Option<&'a str>;
    let (there, value): (bool, Role) = match name {
        "title" => (table.has_title(), Table::title),
        "source" => (table.has_source(), Table::source),
        "domain" => (table.has_domain(), Table::domain),
        "crawled_at" => (table.has_date(), Table::date),
        _ => return None,
    };
    there.then_some(move |rank| {
        value(table, rank).map_or(Value::Null, |text| Value::Text(text.to_owned()))
    })
}
