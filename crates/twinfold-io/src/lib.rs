//! twinfold-io

pub mod source;
