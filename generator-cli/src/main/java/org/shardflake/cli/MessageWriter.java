/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.shardflake.cli.output.Visible;

/**
 * A writer for standard error. Lines and formatted text go out with their control characters shown, since they may repeat what users have
 * stored; {@code print} and {@code write} pass everything on, as colours and progress bars need.
 */
final class MessageWriter extends PrintWriter {

    MessageWriter(OutputStream stderr) {
        super(new OutputStreamWriter(stderr, UTF_8), true);
    }

    @Override
    public void println(@Nullable String text) {
        super.println(Visible.lines(String.valueOf(text)));
    }

    @Override
    public PrintWriter format(String format, @Nullable Object... values) {
        print(Visible.lines(String.format(Locale.ROOT, format, values)));
        flush();
        return this;
    }
}
