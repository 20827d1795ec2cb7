/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import javax.net.ssl.SSLContext;

/** What lets other machines in: TLS, and a password that is asked for beside the token. */
public final class Remote {

    private final SSLContext tls;
    private final byte[] digest;

    public Remote(SSLContext tls, String password) {
        this.tls = tls;
        this.digest = digest(password);
    }

    SSLContext tls() {
        return tls;
    }

    /** In a time that tells neither how much of it is right nor how long the right one is. */
    boolean isPassword(String given) {
        return MessageDigest.isEqual(digest, digest(given));
    }

    private static byte[] digest(String text) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // Every Java has it.
        }
    }
}
