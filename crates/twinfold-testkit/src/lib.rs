//! twinfold-testkit
