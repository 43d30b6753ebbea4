//! Gives the shared library a name that programs are linked to, whatever its file is called.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |variable: &str, value: &str| std::env::var(variable).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libscanbox_c.so.0");
    }
}
