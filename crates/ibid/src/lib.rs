//! ibid
