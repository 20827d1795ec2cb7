/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/** Names at random, each different, out of pieces that mean something to SQL, the driver, templates, shells or terminals. */
final class HostileNames {

    /** The longest that PostgreSQL takes, in bytes. */
    private static final int LONGEST = 63;

    private static final List<String> PIECES = List.of(
            "\"",
            "'",
            "$$",
            "$do$",
            "$trigger$",
            "$shardflake$",
            "$_$",
            "\\",
            "\\.",
            "%",
            "%s",
            "%1$s",
            "%n",
            "\n",
            "\t",
            "\r",
            "e\u0301",
            "🦔",
            "\u05e9\u05dc\u05d5\u05dd",
            "\u202e",
            "ü",
            "select",
            "user",
            "public",
            "null",
            "A",
            "Zz",
            " ",
            "  ",
            ".",
            ",",
            "(",
            ")",
            "()",
            "{",
            "}",
            "{0}",
            "{fn now()}",
            "{{x}}",
            "${shard.schema}",
            "$1",
            "?",
            "??",
            ":",
            ":x",
            ";",
            "--",
            "/*",
            "*/",
            "1",
            "_",
            "&",
            "=",
            "#",
            "@",
            "/",
            "<b>",
            "|",
            "`",
            "*",
            "~",
            "^",
            "!",
            "[]",
            "::int",
            "E'",
            "U&\"",
            ";ALTER ROLE canary SUPERUSER;--",
            ";DROP TABLE canary;--");

    private final Random random;
    private final Set<String> given = new HashSet<>();

    HostileNames(long seed) {
        this.random = new Random(seed);
    }

    /** A name for anything. */
    String next() {
        while (true) {
            StringBuilder name = new StringBuilder();
            int bytes = random.nextInt(3) == 0 ? LONGEST : 1 + random.nextInt(LONGEST);
            for (int i = 0; i < 20 && size(name) < bytes; i++) {
                String piece = PIECES.get(random.nextInt(PIECES.size()));
                if (size(name) + piece.getBytes(UTF_8).length <= LONGEST) {
                    name.append(piece);
                }
            }
            if (bytes == LONGEST) {
                name.append("x".repeat(LONGEST - size(name)));
            }
            if (!name.isEmpty() && given.add(name.toString())) {
                return name.toString();
            }
        }
    }

    /** A name without any of these. */
    String without(String... pieces) {
        while (true) {
            String name = next();
            if (List.of(pieces).stream().noneMatch(name::contains)) {
                return name;
            }
        }
    }

    private static int size(CharSequence text) {
        return text.toString().getBytes(UTF_8).length;
    }
}
