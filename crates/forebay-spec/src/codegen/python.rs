// SPDX-License-Identifier: Apache-2.0
//! The Python module of constants.

use super::{BANNER, GROUPS};
use core::fmt::{Result, Write};

/// Writes the module.
pub fn render_python(out: &mut impl Write) -> Result {
    // REUSE-IgnoreStart
    writeln!(out, "# SPDX-License-Identifier: Apache-2.0")?;
    // REUSE-IgnoreEnd
    writeln!(out, "\"\"\"Constants that RTL and software share.")?;
    writeln!(out, "\n{BANNER}\n\"\"\"")?;
    for group in GROUPS {
        writeln!(out, "\n# {}", group.title)?;
        for constant in group.constants() {
            writeln!(out, "{} = 0x{:X}", constant.name, constant.value)?;
        }
    }
    Ok(())
}
