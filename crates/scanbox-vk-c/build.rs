//! Gives the shared library a name that programs are linked to, whatever its file is called: with the part of the
//! version that changes where programs have to be built again, which is the minor one before 1.0.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |variable: &str, value: &str| std::env::var(variable).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") {
        let number = |name: &str| std::env::var(name).unwrap_or_default();
        let (major, minor) = (number("CARGO_PKG_VERSION_MAJOR"), number("CARGO_PKG_VERSION_MINOR"));
        let version = if major == "0" { format!("0.{minor}") } else { major };
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libscanbox_c.so.{version}");
    }
}
