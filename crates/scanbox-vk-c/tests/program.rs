//! Programs in C: how they are made and run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// What programs are linked to: before 1.0, minor versions do not go with each other.
pub const SONAME: &str =
    concat!("libscanbox_c.so.", env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));

/// How a program comes by the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linked {
    /// It is in the program.
    Statically,
    /// It is found where the program runs.
    Dynamically,
}

/// The crate.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The folder of the library that these tests were built with.
pub fn library() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// A program, in a folder that goes with it.
pub struct Program {
    folder: TempDir,
    path: PathBuf,
}

impl Program {
    /// Compiles a file of `tests/c`; every warning is an error.
    pub fn of_tests(file: &str, linked: Linked) -> Self {
        Self::new(&folder().join("tests/c").join(file), linked)
    }

    /// Compiles a file.
    pub fn new(source: &Path, linked: Linked) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let mut command = Command::new(&compiler);
        command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-I"]);
        command.arg(self::folder().join("include")).arg(source).arg("-o").arg(&path);
        match linked {
            Linked::Statically => command.arg(library().join("libscanbox_c.a")),
            Linked::Dynamically => {
                // By the name that programs remember, as an installed one has it.
                for name in ["libscanbox_c.so", SONAME] {
                    symlink(library().join("libscanbox_c.so"), folder.path().join(name)).unwrap();
                }
                command.arg("-L").arg(folder.path()).arg("-lscanbox_c");
                command.arg(format!("-Wl,-rpath,{}", folder.path().display()))
            }
        };
        command.args(["-lvulkan", "-lpthread", "-ldl", "-lm"]);
        let made = command.output().unwrap_or_else(|error| panic!("{compiler}: {error}"));
        assert!(made.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&made.stderr));
        Self { folder, path }
    }

    /// Runs it (see [`run`]).
    #[track_caller]
    pub fn check(&self, arguments: &[&Path]) -> String {
        run(Command::new(&self.path).args(arguments).current_dir(self.folder.path()))
    }
}

/// Runs a program, with the validation layer where tests are asked for that. It ends well, and the layer says nothing.
#[track_caller]
pub fn run(command: &mut Command) -> String {
    if std::env::var_os("SCANBOX_VALIDATION").is_some() {
        command.env("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation");
    }
    let Output { status, stdout, stderr } = command.output().unwrap();
    let said = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(status.success(), "{status}:\n{said}");
    assert!(!said.contains("VUID-") && !said.contains("Validation Error"), "{said}");
    said
}

/// Compiles a text, and nothing more.
pub fn compiles(compiler: &str, flags: &[&str], text: &str) {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("text");
    fs::write(&file, text).unwrap();
    let mut command = Command::new(compiler);
    command.args(flags).args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-I"]);
    let made = command.arg(folder().join("include")).arg(&file).output();
    let made = made.unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(made.status.success(), "{}\n{text}", String::from_utf8_lossy(&made.stderr));
}
