/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;

/**
 * The arguments and the environment of the process as UTF-8, whatever the locale. Java decodes them by the locale, and
 * in that of cron, systemd and many containers it replaces every other character without a word.
 */
final class Arguments {

    private static final Path COMMAND_LINE = Path.of("/proc/self/cmdline");
    private static final Path ENVIRONMENT = Path.of("/proc/self/environ");

    private Arguments() {}

    /**
     * The arguments that Java decoded, decoded again from their original bytes.
     *
     * @throws CliException if one is not UTF-8, or its bytes cannot be had
     */
    static String[] decode(String[] decoded) {
        return decode(decoded, fields(COMMAND_LINE));
    }

    /** @param raw all words of the command, ending with its arguments; null if they cannot be had */
    static String[] decode(String[] decoded, @Nullable List<byte[]> raw) {
        String[] arguments = decoded.clone();
        for (int i = 0; i < arguments.length; i++) {
            if (!isDoubtful(arguments[i])) {
                continue;
            }
            int field = raw == null ? -1 : raw.size() - arguments.length + i;
            if (raw != null && field >= 0) {
                arguments[i] = text(raw.get(field), "word %s of the command line".formatted(i + 1));
            } else if (arguments[i].indexOf('\uFFFD') >= 0) {
                throw notUtf8("word %s of the command line".formatted(i + 1), arguments[i]);
            }
        }
        return arguments;
    }

    /**
     * The environment variables that Java decoded, decoded again from their original bytes.
     *
     * @throws CliException if one that commands read is not UTF-8
     */
    static Map<String, String> decode(Map<String, String> decoded) {
        if (decoded.values().stream().noneMatch(Arguments::isDoubtful)) {
            return decoded;
        }
        List<byte[]> raw = fields(ENVIRONMENT);
        if (raw == null) {
            return decoded;
        }
        Map<String, String> environment = new HashMap<>(decoded);
        for (byte[] field : raw) {
            // Only the name, which is ASCII: the value is decoded strictly below.
            String name = new String(field, UTF_8).replaceFirst("(?s)=.*", "");
            boolean isOurs = name.startsWith("SHARDFLAKE_") || name.startsWith("PG");
            if (isOurs && decoded.containsKey(name) && isDoubtful(decoded.get(name))) {
                String text = text(field, "environment variable %s".formatted(name));
                environment.put(name, text.substring(name.length() + 1));
            }
        }
        return environment;
    }

    /** Whether Java may have replaced a character: by a question mark in ASCII locales, by U+FFFD in others. */
    private static boolean isDoubtful(@Nullable String text) {
        return text != null && text.chars().anyMatch(c -> c == '?' || c > 126);
    }

    /** The NUL-terminated fields of a file in /proc, or null if the file does not exist. */
    private static @Nullable List<byte[]> fields(Path file) {
        byte[] all;
        try {
            all = Files.readAllBytes(file);
        } catch (IOException e) {
            return null; // Not Linux. macOS has UTF-8 in every locale.
        }
        List<byte[]> fields = new ArrayList<>();
        int begin = 0;
        for (int i = 0; i < all.length; i++) {
            if (all[i] == 0) {
                fields.add(java.util.Arrays.copyOfRange(all, begin, i));
                begin = i + 1;
            }
        }
        return fields;
    }

    private static String text(byte[] bytes, String what) {
        try {
            return UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException e) {
            throw notUtf8(what, new String(bytes, UTF_8));
        }
    }

    private static CliException notUtf8(String what, String shown) {
        boolean isSecret = what.endsWith("PASSWORD");
        return new CliException(
                Kind.USAGE,
                isSecret ? "%s is not UTF-8".formatted(what) : "%s is not UTF-8: %s".formatted(what, shown),
                "give it in UTF-8, whatever the locale; a terminal with another encoding can convert it with iconv -t UTF-8");
    }
}
