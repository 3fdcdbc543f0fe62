//! ibid-tools
