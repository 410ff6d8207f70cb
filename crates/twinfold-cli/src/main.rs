//! The command `twinfold`; all of it is in the library.

fn main() -> std::process::ExitCode {
    twinfold_cli::main()
}
