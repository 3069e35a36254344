//! The napi boundary: one file per verb, no logic.
