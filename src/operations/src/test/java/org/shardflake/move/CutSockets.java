/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.io.ByteArrayOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.SocketFactory;

/** Connections that break when a commit has been sent and not been answered: of every 25 commits one. */
public final class CutSockets extends SocketFactory {

    private static final AtomicInteger COMMITS = new AtomicInteger();

    /** URL parameters that make the driver use these sockets. */
    static String parameters() {
        return "?socketFactory=" + CutSockets.class.getName();
    }

    @Override
    public Socket createSocket() {
        return new Socket() {
            @Override
            public OutputStream getOutputStream() throws IOException {
                return new FilterOutputStream(super.getOutputStream()) {

                    private final ByteArrayOutputStream sent = new ByteArrayOutputStream();

                    @Override
                    public void write(byte[] bytes, int offset, int length) throws IOException {
                        sent.write(bytes, offset, length);
                        out.write(bytes, offset, length);
                    }

                    @Override
                    public void flush() throws IOException {
                        super.flush();
                        boolean commits =
                                sent.toString(StandardCharsets.ISO_8859_1).contains("COMMIT");
                        sent.reset();
                        if (commits && COMMITS.incrementAndGet() % 25 == 0) {
                            shutdownInput();
                        }
                    }
                };
            }
        };
    }

    @Override
    public Socket createSocket(String host, int port) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress local, int localPort) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(InetAddress host, int port) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort) {
        throw new UnsupportedOperationException();
    }
}
