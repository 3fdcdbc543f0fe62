//! The `ibid` program.

fn main() -> std::process::ExitCode {
    ibid::run()
}
