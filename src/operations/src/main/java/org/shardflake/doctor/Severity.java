/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import java.util.Locale;

/** The urgency of a finding. */
public enum Severity {
    /** Rows or ids are at stake, writes are refused, or a server is filling up. */
    PROBLEM,
    /** A risk that has done no harm yet. */
    WARNING;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
