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

    private static final String CHANGELOG = "src/main/resources/db/photos.sql";
    private static final Path PAGE = Path.of("../src/docs/guide/jooq.md");

    private GeneratedCode() {}

    /** Generates the code of the page's changelog into a directory, by the configuration of its Maven plugin. */
    static void generate(Path directory) throws Exception {
        Path changelog = Files.writeString(directory.resolve("photos.sql"), block("sql"));
        Configuration configuration = GenerationTool.load(new ByteArrayInputStream(
                configuration().replace(CHANGELOG, changelog.toString()).getBytes(StandardCharsets.UTF_8)));
        configuration.setLogging(Logging.WARN);
        configuration.getGenerator().getTarget().setDirectory(directory.toString());
        new GenerationTool().run(configuration);
    }

    /** Makes a directory the Gradle project of the page; the code comes into {@code build/generated/jooq}. */
    static void writeGradleProject(Path directory) throws IOException {
        Path changelog = directory.resolve(CHANGELOG);
        Files.createDirectories(changelog.getParent());
        Files.writeString(changelog, block("sql"));
        Files.writeString(
                directory.resolve("jooq.xml"),
                configuration().replace("<target>", "<target><directory>build/generated/jooq</directory>"));
        Files.writeString(directory.resolve("settings.gradle"), "rootProject.name = 'photos'");
        Files.writeString(directory.resolve("build.gradle"), block("groovy"));
    }

    private static String configuration() throws IOException {
        Matcher generator =
                Pattern.compile("<generator>.*</generator>", Pattern.DOTALL).matcher(block("xml"));
        generator.find();
        return "<configuration>"
                + generator.group().replace("com.example.photos.db", "org.shardflake.example.generated")
                + "</configuration>";
    }

    private static String block(String language) throws IOException {
        Matcher block = Pattern.compile("```%s\n(.*?)```".formatted(language), Pattern.DOTALL)
                .matcher(Files.readString(PAGE));
        block.find();
        return block.group(1);
    }
}
