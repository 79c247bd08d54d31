// SPDX-License-Identifier: Apache-2.0
//! The C header `forebay_spec.h`.

use super::{BANNER, GROUPS, name_width};
use core::fmt::{Result, Write};

/// Writes the header.
pub fn render_c(out: &mut impl Write) -> Result {
    // REUSE-IgnoreStart
    writeln!(out, "/* SPDX-License-Identifier: Apache-2.0 */")?;
    // REUSE-IgnoreEnd
    writeln!(out, "/* {BANNER} */")?;
    writeln!(out, "#ifndef FOREBAY_SPEC_H\n#define FOREBAY_SPEC_H")?;
    for group in GROUPS {
        writeln!(out, "\n/* {} */", group.title)?;
        let width = name_width(group);
        for constant in group.constants() {
            let suffix = if constant.value > u32::MAX as u64 {
                "ull"
            } else {
                "u"
            };
            writeln!(
                out,
                "#define FB_{:width$} 0x{:x}{suffix}",
                constant.name, constant.value
            )?;
        }
    }
    writeln!(out, "\n#endif")
}
