/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.jdbc.Sql;

/** A problem found by the doctor. */
public final class Finding {

    private final Severity severity;
    private final String server;
    private final String check;
    private final String found;
    private final Advice remedy;
    private final @Nullable Fix fix;

    private Finding(Severity severity, String server, String check, String found, Advice remedy, @Nullable Fix fix) {
        this.severity = severity;
        this.server = server;
        this.check = check;
        this.found = found;
        this.remedy = remedy;
        this.fix = fix;
    }

    /** A finding without a fix. */
    public static Finding of(Severity severity, String server, String check, String found, CharSequence remedy) {
        return new Finding(severity, server, check, found, Advice.of(remedy), null);
    }

    /** This finding with a fix that puts no rows at risk. */
    Finding with(Fix safe) {
        return new Finding(severity, server, check, found, remedy, safe);
    }

    public Severity severity() {
        return severity;
    }

    /** The server's name in the shard map, or "catalog". */
    public String server() {
        return server;
    }

    /** A stable name, such as shard-closed. */
    public String check() {
        return check;
    }

    public String found() {
        return found;
    }

    /** The remedy. */
    public Advice remedy() {
        return remedy;
    }

    /** Whether {@link #fix} can fix the finding. */
    public boolean isFixable() {
        return fix != null;
    }

    /** Fixes the finding. */
    public void fix() {
        if (fix == null) {
            throw new IllegalStateException("%s of %s has no fix that is safe".formatted(check, server));
        }
        Sql.translating(fix::apply);
    }

    @Override
    public String toString() {
        return "%s: %s: %s: %s".formatted(severity, server, check, found);
    }
}
