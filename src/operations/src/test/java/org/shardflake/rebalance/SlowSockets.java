/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.SocketFactory;

/** Connections that delay each statement, so that a server looks slow to the code under test and to no one else. */
public final class SlowSockets extends SocketFactory {

    private static final Map<String, Integer> MILLIS = new ConcurrentHashMap<>();

    private final String server;

    /** Called by the driver. */
    public SlowSockets(String server) {
        this.server = server;
    }

    /** URL parameters that make the driver use these sockets. */
    static String parameters(String server) {
        return "socketFactory=%s&socketFactoryArg=%s".formatted(SlowSockets.class.getName(), server);
    }

    /** Delays all statements to a server from now on. */
    static void delay(String server, int millis) {
        MILLIS.put(server, millis);
    }

    @Override
    public Socket createSocket() {
        return new Socket() {
            @Override
            public OutputStream getOutputStream() throws IOException {
                return new FilterOutputStream(super.getOutputStream()) {
                    @Override
                    public void write(byte[] bytes, int offset, int length) throws IOException {
                        out.write(bytes, offset, length);
                    }

                    @Override
                    public void flush() throws IOException {
                        pause(MILLIS.getOrDefault(server, 0));
                        super.flush();
                    }
                };
            }
        };
    }

    private static void pause(int millis) throws InterruptedIOException {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException();
        }
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
