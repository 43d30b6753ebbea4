//! The script of the page is what the compiler makes of `web/page/page.ts`.

use std::path::Path;
use std::process::Command;

#[test]
#[allow(clippy::print_stderr, reason = "whoever reads the output of a test that did nothing has to know")]
fn the_script_is_compiled_from_its_source() {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    let compiler = web.join("node_modules/.bin/tsc");
    if !compiler.exists() {
        eprintln!("left out: no TypeScript in {}; `npm ci` there brings it", web.display());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(compiler);
    command.arg("--project").arg(web.join("page")).arg("--outDir").arg(folder.path());
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    let made = std::fs::read_to_string(folder.path().join("page.js")).unwrap();
    let kept = std::fs::read_to_string(web.join("page/page.js")).unwrap();
    assert!(made == kept, "web/page/page.js is another one: `npm run build` in web/ writes it");
}
