/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.security.GeneralSecurityException;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import javax.crypto.Cipher;
import javax.crypto.ShortBufferException;
import javax.crypto.spec.SecretKeySpec;

/**
 * FF1 of NIST SP 800-38G for radix 2, 63 digits and no tweak: a permutation of the numbers 0..2<sup>63</sup>-1.
 *
 * <p>Ten rounds of a Feistel network over the upper 31 and the lower 32 bits; each adds to one half, modulo its size, a
 * number that AES derives from the other. In the standard's words (algorithms 7 and 8) u = 31, v = 32, b = 4 and d = 8,
 * so that P and Q have one block each and S is the first half of R. All of Q but its last five bytes is zero, and P is
 * always the same: its encryption is computed once.
 *
 * <p>Thread-safe.
 */
final class Ff1 {

    private static final int ROUNDS = 10;
    private static final int BLOCK = 16;
    private static final long LOWER = (1L << 32) - 1;
    private static final long UPPER = (1L << 31) - 1;

    /** The constant P of FF1: version 1, method 2, addition 1; radix 2; 10 rounds; u = 31; 63 digits; a tweak of 0 bytes. */
    private static final byte[] P = {1, 2, 1, 0, 0, 2, 10, 31, 0, 0, 0, 63, 0, 0, 0, 0};

    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    private final SecretKeySpec key;
    private final long highP;
    private final long lowP;

    /** Idle ciphers for reuse: each serves one thread at a time, and creating one costs more than the ten rounds. */
    private final Queue<Cipher> idle = new ConcurrentLinkedQueue<>();

    /** Uses an AES key of 16, 24 or 32 bytes, which is copied. */
    Ff1(byte[] key) {
        this.key = new SecretKeySpec(key, "AES");
        Cipher cipher = newCipher();
        byte[] encrypted = new byte[BLOCK];
        update(cipher, P, encrypted);
        highP = (long) LONGS.get(encrypted, 0);
        lowP = (long) LONGS.get(encrypted, Long.BYTES);
        idle.add(cipher);
    }

    long encrypt(long number) {
        Cipher cipher = borrow();
        byte[] block = new byte[BLOCK];
        long a = number >>> 32;
        long b = number & LOWER;
        for (int round = 0; round < ROUNDS; round++) {
            long c = a + number(cipher, block, round, b) & mask(round);
            a = b;
            b = c;
        }
        idle.add(cipher);
        return a << 32 | b;
    }

    long decrypt(long number) {
        Cipher cipher = borrow();
        byte[] block = new byte[BLOCK];
        long a = number >>> 32;
        long b = number & LOWER;
        for (int round = ROUNDS - 1; round >= 0; round--) {
            long c = b - number(cipher, block, round, a) & mask(round);
            b = a;
            a = c;
        }
        idle.add(cipher);
        return a << 32 | b;
    }

    /** The mask of the half that a round changes; the halves take turns, the upper one first. */
    private static long mask(int round) {
        return round % 2 == 0 ? UPPER : LOWER;
    }

    /** The number that a round adds, NUM(S): the first half of the second block of CBC-MAC over P and Q. */
    private long number(Cipher cipher, byte[] block, int round, long half) {
        LONGS.set(block, 0, highP);
        LONGS.set(block, Long.BYTES, lowP ^ ((long) round << 32 | half));
        update(cipher, block, block);
        return (long) LONGS.get(block, 0);
    }

    private Cipher borrow() {
        Cipher cipher = idle.poll();
        return cipher == null ? newCipher() : cipher;
    }

    @SuppressWarnings("InsecureCryptoUsage") // single blocks: ECB is AES itself
    private Cipher newCipher() {
        try {
            Cipher cipher = Cipher.getInstance("AES/ECB/NoPadding");
            cipher.init(Cipher.ENCRYPT_MODE, key);
            return cipher;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(
                    "this Java has no AES with keys of %s bits".formatted(key.getEncoded().length * Byte.SIZE), e);
        }
    }

    private static void update(Cipher cipher, byte[] block, byte[] encrypted) {
        try {
            cipher.update(block, 0, BLOCK, encrypted);
        } catch (ShortBufferException e) {
            throw new AssertionError(e);
        }
    }
}
