/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import java.util.Locale;

/** How much a finding matters. */
public enum Severity {
    /** Rows or ids are at stake, writes are refused, or a server is filling up. */
    PROBLEM,
    /** It does no harm yet. */
    WARNING;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
