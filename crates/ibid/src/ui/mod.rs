//! What people see: the printer, the progress bar, and how hits look.

pub mod hits;
pub mod printer;
pub mod progress;
pub mod table;
pub mod text;
