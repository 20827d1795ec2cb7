/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.Deflater;
import java.util.zip.GZIPOutputStream;

/** Run by the build: writes what Debian's policy asks of a package besides its program, compressed man pages, change log and copyright. */
public final class DebFiles {

    /** The byte of gzip's header that says how hard was tried, and its value for the best compression. */
    private static final int EFFORT = 8;

    private static final byte BEST = 2;

    public static void main(String[] args) throws IOException {
        String version = args[0];
        OffsetDateTime released = OffsetDateTime.parse(args[1]);
        String url = args[2];
        String maintainer = maintainer(Path.of(args[3]));
        Path built = Path.of(args[4]);
        Path directory = built.resolve("deb");

        Path man = Files.createDirectories(directory.resolve("man"));
        for (Path page : files(built.resolve("dist/man"), ".1")) {
            compress(Files.readAllBytes(page), man.resolve(page.getFileName() + ".gz"));
        }
        String completion = Files.readString(built.resolve("dist/completion/shardflake"));
        // It is sourced, so Debian wants no line that names a shell.
        Files.writeString(
                Files.createDirectories(directory.resolve("completion")).resolve("shardflake"),
                completion.replaceFirst("^#!.*\\R", ""));
        String entry =
                """
                shardflake (%s) stable; urgency=medium

                  * See %s/blob/main/src/docs/CHANGELOG.md

                 -- %s  %s
                """
                        .formatted(
                                version,
                                url,
                                maintainer,
                                DateTimeFormatter.RFC_1123_DATE_TIME.format(
                                        released.withOffsetSameInstant(ZoneOffset.UTC)));
        // That form leaves out the zero of a day below 10 and says GMT.
        compress(
                entry.replace(" GMT", " +0000").replaceFirst(", (\\d) ", ", 0$1 ").getBytes(),
                directory.resolve("changelog.gz"));
        Files.writeString(
                directory.resolve("copyright"),
                """
                Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
                Upstream-Name: Shardflake
                Source: %s

                Files: *
                Copyright: %s The Shardflake Authors
                License: Apache-2.0
                 On Debian systems, the text of the Apache License 2.0 is in
                 /usr/share/common-licenses/Apache-2.0.

                Files: usr/share/shardflake/lib/*
                Copyright: the authors of each library
                License: several
                 Each jar has its own license and notice in META-INF. The list, with the
                 libraries that Shardflake was only compiled with:
                 .
                %s
                """
                        .formatted(url, released.getYear(), libraries(built.resolve("THIRD-PARTY.txt"))));
    }

    private static String maintainer(Path control) throws IOException {
        return Files.readAllLines(control).stream()
                .filter(line -> line.startsWith("Maintainer: "))
                .map(line -> line.substring("Maintainer: ".length()))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException(control + " has no maintainer"));
    }

    private static String libraries(Path thirdParty) throws IOException {
        List<String> lines = Files.readAllLines(thirdParty).stream()
                .filter(line -> line.startsWith("     ("))
                .map(line -> "  " + line.strip())
                .collect(Collectors.toList());
        if (lines.isEmpty()) {
            throw new IllegalStateException(thirdParty + " lists no library");
        }
        return String.join("\n", lines);
    }

    private static List<Path> files(Path directory, String suffix) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> file.toString().endsWith(suffix)).sorted().collect(Collectors.toList());
        }
    }

    /** Without a time or a name, so that the same text makes the same file. */
    private static void compress(byte[] text, Path file) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (OutputStream out = new Best(bytes)) {
            out.write(text);
        }
        byte[] compressed = bytes.toByteArray();
        compressed[EFFORT] = BEST;
        Files.write(file, compressed);
    }

    private static final class Best extends GZIPOutputStream {
        Best(OutputStream out) throws IOException {
            super(out);
            def.setLevel(Deflater.BEST_COMPRESSION);
        }
    }
}
