//! The library as it is installed, and the example as a user builds it.

use std::path::Path;
use std::process::Command;

use super::is_asked_for;
use crate::program::{SONAME, folder, library, run};

/// Runs a program to its end: what it says.
#[track_caller]
fn done(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    said
}

fn check_example(program: &Path) {
    let said = run(&mut Command::new(program));
    assert!(said.contains("submitted 5 times: 0 of 5000000 sums wrong, by rts."), "{said}");
}

#[test]
fn the_example_is_built_by_cmake_and_by_pkg_config_and_is_right() {
    if !is_asked_for() {
        return;
    }
    let root = folder().join("../..").canonicalize().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let (prefix, build) = (scratch.path().join("an installation"), scratch.path().join("build"));
    done(Command::new(root.join("scripts/install-c")).arg(&prefix).arg("--from").arg(library()));

    done(
        Command::new("cmake")
            .arg("-S")
            .arg(root.join("examples/c"))
            .arg("-B")
            .arg(&build)
            .arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()))
            .args(["-DCMAKE_C_FLAGS=-Wall -Wextra -Werror -pedantic", "-DCMAKE_BUILD_TYPE=Release"]),
    );
    done(Command::new("cmake").arg("--build").arg(&build));
    check_example(&build.join("example"));

    // It is linked to the part of the version that goes with it, which is what is installed.
    let needed = done(Command::new("readelf").arg("-d").arg(build.join("example")));
    assert!(needed.contains(&format!("[{SONAME}]")), "{needed}");
    assert!(prefix.join("lib").join(SONAME).exists());

    // The same by hand, into one program.
    let pkg_config = |argument: &str| {
        let mut command = Command::new("pkg-config");
        let said =
            done(command.arg(argument).arg("scanbox").env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")));
        said.trim().to_owned()
    };
    assert_eq!(pkg_config("--modversion"), env!("CARGO_PKG_VERSION"));
    let pack = pkg_config("--variable=pack").replace('\\', "");
    let program = scratch.path().join("by-hand");
    let flags = format!(
        "cc -std=c11 {} '{}' -o '{}' '-DPACK=\"{pack}\"' '{}' -lvulkan -lpthread -ldl -lm",
        pkg_config("--cflags"),
        root.join("examples/c/example.c").display(),
        program.display(),
        prefix.join("lib/libscanbox_c.a").display(),
    );
    done(Command::new("sh").arg("-c").arg(flags));
    check_example(&program);

    // A version that this one does not go with.
    let project = scratch.path().join("newer");
    std::fs::create_dir(&project).unwrap();
    let text = "cmake_minimum_required(VERSION 3.16)\nproject(newer C)\nfind_package(scanbox 9.1 QUIET)\n\
                if(scanbox_FOUND)\nmessage(FATAL_ERROR found)\nendif()\n";
    std::fs::write(project.join("CMakeLists.txt"), text).unwrap();
    let mut command = Command::new("cmake");
    done(command.arg("-S").arg(&project).arg("-B").arg(project.join("b")).env("CMAKE_PREFIX_PATH", &prefix));
}
