//! What is behind the page of a browser, played by clients of these tests. The real one is in the tests of the program.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fake_page;
mod faults;
mod pages;
mod script;
