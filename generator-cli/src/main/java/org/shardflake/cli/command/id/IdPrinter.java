/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.id;

import java.io.PrintWriter;
import org.shardflake.cli.output.OutputFormat;

/** Prints ids as they arrive: one a line, or an array of strings. */
final class IdPrinter {

    private final PrintWriter out;
    private final OutputFormat format;
    private long printed;

    IdPrinter(PrintWriter out, OutputFormat format) {
        this.out = out;
        this.format = format;
    }

    void print(long id) {
        print(Long.toString(id));
    }

    /** Adds an id of letters, digits and hyphens. */
    void print(String id) {
        switch (format) {
            case TABLE -> out.append(id).append('\n');
            case JSON -> out.append(printed == 0 ? "[\"" : ",\"").append(id).append('"');
            case YAML -> out.append("- \"").append(id).append("\"\n");
        }
        printed++;
    }

    long printed() {
        return printed;
    }

    void end() {
        if (format == OutputFormat.JSON) {
            out.append(printed == 0 ? "[" : "").append("]\n");
        }
    }
}
