/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.SocketFactory;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * Distinguishes long statements from servers that hang, which TCP cannot do: the kernel of a frozen server keeps acknowledging.
 *
 * <p>A thread checks the sockets. If one has been silent for a while in the middle of a read or write, the thread asks
 * its server on another connection, as {@code pg_isready} would; if that repeatedly gets no answer either, the socket
 * is closed and the statement fails. Servers that answer sooner are not asked.
 */
final class ServerWatch {

    private static final ServerWatch COMMANDS = new ServerWatch(Duration.ofSeconds(20), Duration.ofSeconds(60));

    /** The request that begins a TLS session; the server answers S or N, or nothing if it hangs. */
    private static final byte[] SSL_REQUEST =
            ByteBuffer.allocate(8).putInt(8).putInt(80877103).array();

    private final Set<WatchedSocket> sockets = ConcurrentHashMap.newKeySet();
    private final Duration silence;
    private final Duration limit;
    private @Nullable Thread watching;

    /**
     * @param silence how long a server may be silent before it is asked, and then has to answer
     * @param limit how long a server may give no answer before its sockets are closed
     */
    ServerWatch(Duration silence, Duration limit) {
        this.silence = silence;
        this.limit = limit;
    }

    /** Watches the connections of a source, unless it has its own socket factory. */
    static void over(PGSimpleDataSource source) {
        if (source.getSocketFactory() == null) {
            source.setSocketFactory(Sockets.class.getName());
        }
    }

    /** The driver's socket factory, which it loads by class name. */
    public static final class Sockets extends SocketFactory {

        @Override
        public Socket createSocket() {
            return COMMANDS.socket();
        }

        @Override
        public Socket createSocket(String host, int port) throws IOException {
            return connected(new InetSocketAddress(host, port), null);
        }

        @Override
        public Socket createSocket(String host, int port, InetAddress localHost, int localPort) throws IOException {
            return connected(new InetSocketAddress(host, port), new InetSocketAddress(localHost, localPort));
        }

        @Override
        public Socket createSocket(InetAddress host, int port) throws IOException {
            return connected(new InetSocketAddress(host, port), null);
        }

        @Override
        public Socket createSocket(InetAddress address, int port, InetAddress localAddress, int localPort)
                throws IOException {
            return connected(new InetSocketAddress(address, port), new InetSocketAddress(localAddress, localPort));
        }

        private static Socket connected(SocketAddress address, @Nullable SocketAddress local) throws IOException {
            Socket socket = COMMANDS.socket();
            socket.bind(local);
            socket.connect(address);
            return socket;
        }
    }

    Socket socket() {
        return new WatchedSocket();
    }

    private synchronized void watch(WatchedSocket socket) {
        sockets.add(socket);
        if (watching == null) {
            watching = new Thread(this::look, "shardflake server watch");
            watching.setDaemon(true);
            watching.start();
        }
    }

    private void look() {
        try {
            while (goesOn()) {
                Thread.sleep(Math.max(1, silence.toMillis() / 4));
                askServers();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized boolean goesOn() {
        if (sockets.isEmpty()) {
            watching = null;
        }
        return watching != null;
    }

    /** Checks each server once, however many sockets lead there. */
    private void askServers() {
        Map<SocketAddress, Boolean> answers = new HashMap<>();
        for (WatchedSocket socket : sockets) {
            SocketAddress server = socket.getRemoteSocketAddress();
            if (server == null || socket.waited() < silence.toNanos()) {
                continue;
            }
            if (answers.computeIfAbsent(server, this::answers)) {
                socket.isKnownToAnswer();
            } else if (socket.waited() > limit.toNanos()) {
                socket.giveUp(new NoAnswerException(text(server), limit));
            }
        }
    }

    private boolean answers(SocketAddress address) {
        int timeout = Math.toIntExact(silence.toMillis() / 2);
        try (Socket asked = new Socket()) {
            asked.connect(address, timeout);
            asked.setSoTimeout(timeout);
            asked.getOutputStream().write(SSL_REQUEST);
            return asked.getInputStream().read() >= 0;
        } catch (IOException e) {
            return false;
        }
    }

    private static String text(SocketAddress address) {
        return address instanceof InetSocketAddress internet
                ? internet.getHostString() + ":" + internet.getPort()
                : String.valueOf(address);
    }

    /** A socket that knows since when a read or a write has been waiting. Carries TLS like any other socket. */
    private final class WatchedSocket extends Socket {

        private static final long NOT_WAITING = Long.MIN_VALUE;

        private volatile long readingSince = NOT_WAITING;
        private volatile long writingSince = NOT_WAITING;
        private volatile long lastAnswer = System.nanoTime();
        private volatile @Nullable NoAnswerException problem;

        @Override
        public void connect(SocketAddress endpoint, int timeout) throws IOException {
            super.connect(endpoint, timeout);
            watch(this);
        }

        @Override
        public synchronized void close() throws IOException {
            sockets.remove(this);
            super.close();
        }

        /** The time without an answer while a read or write waits for the server, in nanoseconds. */
        long waited() {
            return Math.max(waitedSince(readingSince), waitedSince(writingSince));
        }

        private long waitedSince(long start) {
            long now = System.nanoTime();
            return start == NOT_WAITING ? 0 : Math.min(now - start, now - lastAnswer);
        }

        void isKnownToAnswer() {
            lastAnswer = System.nanoTime();
        }

        void giveUp(NoAnswerException why) {
            problem = why;
            try {
                close();
            } catch (IOException e) {
                // The socket is given up in any case.
            }
        }

        private IOException explained(IOException e) {
            NoAnswerException known = problem;
            return known == null ? e : known;
        }

        @Override
        public InputStream getInputStream() throws IOException {
            return new FilterInputStream(super.getInputStream()) {
                @Override
                public int read() throws IOException {
                    byte[] one = new byte[1];
                    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
                }

                @Override
                public int read(byte[] bytes, int offset, int length) throws IOException {
                    readingSince = System.nanoTime();
                    try {
                        return super.read(bytes, offset, length);
                    } catch (IOException e) {
                        throw explained(e);
                    } finally {
                        readingSince = NOT_WAITING;
                    }
                }
            };
        }

        @Override
        public OutputStream getOutputStream() throws IOException {
            return new FilterOutputStream(super.getOutputStream()) {
                @Override
                public void write(int b) throws IOException {
                    write(new byte[] {(byte) b}, 0, 1);
                }

                @Override
                public void write(byte[] bytes, int offset, int length) throws IOException {
                    writingSince = System.nanoTime();
                    try {
                        out.write(bytes, offset, length);
                    } catch (IOException e) {
                        throw explained(e);
                    } finally {
                        writingSince = NOT_WAITING;
                    }
                }
            };
        }
    }
}
