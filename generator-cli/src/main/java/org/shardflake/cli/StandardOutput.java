/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import java.io.IOException;
import java.io.OutputStream;
import java.io.Serial;

/**
 * Standard output that reports a failed write immediately.
 *
 * <p>A {@code PrintWriter} would swallow it: a decode into a closed pipe would go on through the rest of its input,
 * and one onto a full disk would end as if all were well.
 */
final class StandardOutput extends OutputStream {

    /** A write that failed; unchecked, so that it passes through {@code PrintWriter}. */
    static final class WriteFailedException extends RuntimeException {

        @Serial
        private static final long serialVersionUID = 1L;

        WriteFailedException(IOException cause) {
            super("cannot write to standard output: " + cause.getMessage(), cause);
        }

        boolean isBrokenPipe() {
            return String.valueOf(getMessage()).contains("Broken pipe");
        }
    }

    private final OutputStream stream;
    private boolean failed;

    StandardOutput(OutputStream stream) {
        this.stream = stream;
    }

    @Override
    public void write(int b) {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) {
        attempt(() -> stream.write(bytes, offset, length));
    }

    @Override
    public void flush() {
        attempt(stream::flush);
    }

    private void attempt(Write write) {
        if (failed) {
            return; // Already reported; what is still buffered has nowhere to go.
        }
        try {
            write.run();
        } catch (IOException e) {
            failed = true;
            throw new WriteFailedException(e);
        }
    }

    private interface Write {
        void run() throws IOException;
    }
}
