/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jooq;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jooq.codegen.GenerationTool;
import org.jooq.meta.jaxb.Configuration;
import org.jooq.meta.jaxb.Logging;

/** Makes the code in package {@code org.shardflake.example.generated} as the guide's page of jOOQ tells a build to. */
final class GeneratedCode {

    static final String TEMPLATE_SCHEMA = "app";

    private static final Path PAGE = Path.of("../src/docs/guide/jooq.md");

    private GeneratedCode() {}

    /** Generates the code of the page's changelog into a directory, by the configuration of its Maven plugin. */
    static void generate(Path directory) throws Exception {
        Path changelog = directory.resolve("photos.sql");
        Files.writeString(changelog, block("sql"));
        Matcher generator =
                Pattern.compile("<generator>.*</generator>", Pattern.DOTALL).matcher(block("xml"));
        generator.find();
        String xml = "<configuration>"
                + generator
                        .group()
                        .replace("src/main/resources/db/photos.sql", changelog.toString())
                        .replace("com.example.photos.db", "org.shardflake.example.generated")
                + "</configuration>";
        Configuration configuration =
                GenerationTool.load(new ByteArrayInputStream(xml.getBytes(StandardCharsets.UTF_8)));
        configuration.setLogging(Logging.WARN);
        configuration.getGenerator().getTarget().setDirectory(directory.toString());
        new GenerationTool().run(configuration);
    }

    private static String block(String language) throws IOException {
        Matcher block = Pattern.compile("```%s\n(.*?)```".formatted(language), Pattern.DOTALL)
                .matcher(Files.readString(PAGE));
        block.find();
        return block.group(1);
    }
}
