/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jooq;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Statement;
import org.jooq.codegen.GenerationTool;
import org.jooq.meta.jaxb.Configuration;
import org.jooq.meta.jaxb.Database;
import org.jooq.meta.jaxb.Generate;
import org.jooq.meta.jaxb.Generator;
import org.jooq.meta.jaxb.Logging;
import org.jooq.meta.jaxb.Target;

/** Makes the code in package {@code org.shardflake.example.generated} from a template schema, as a build would. */
final class GeneratedCode {

    static final String TEMPLATE_SCHEMA = "app";

    private static final String TABLES = """
            CREATE SCHEMA app;
            CREATE TABLE app.photo (
                id bigint PRIMARY KEY,
                uid bigint NOT NULL,
                title text NOT NULL,
                visible_to text NOT NULL DEFAULT 'everybody',
                created_at timestamptz NOT NULL DEFAULT clock_timestamp()
            );
            CREATE TABLE app."like" (
                id bigint PRIMARY KEY,
                uid bigint NOT NULL,
                photo_id bigint NOT NULL REFERENCES app.photo
            );
            """;

    private GeneratedCode() {}

    /** The tables in the schema of a shard, with their ids and fences. */
    static String tablesOf(String schema) {
        return TABLES.replace("CREATE SCHEMA app;\n", "").replace("app.", schema + ".") + """
                SELECT shardflake.add_id_sequence('%1$s.photo'); SELECT shardflake.add_fence('%1$s.photo');
                SELECT shardflake.add_id_sequence('%1$s."like"'); SELECT shardflake.add_fence('%1$s."like"');
                """.formatted(schema);
    }

    /** Creates the template schema and generates its code into a directory. */
    static void generate(Connection connection, Path directory) throws Exception {
        try (Statement statement = connection.createStatement()) {
            statement.execute(TABLES);
        }
        GenerationTool tool = new GenerationTool();
        tool.setConnection(connection);
        tool.run(new Configuration()
                .withLogging(Logging.WARN)
                .withGenerator(new Generator()
                        .withDatabase(new Database()
                                .withName("org.jooq.meta.postgres.PostgresDatabase")
                                .withInputSchema(TEMPLATE_SCHEMA)
                                .withExcludes("databasechangelog.*"))
                        .withGenerate(new Generate().withGeneratedAnnotation(false))
                        .withTarget(new Target()
                                .withPackageName("org.shardflake.example.generated")
                                .withDirectory(directory.toString()))));
    }
}
