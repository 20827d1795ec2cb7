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
import org.shardflake.example.PhotoTables;

/** Makes the code in package {@code org.shardflake.example.generated} from a template schema, as a build would. */
final class GeneratedCode {

    static final String TEMPLATE_SCHEMA = "app";

    private GeneratedCode() {}

    /** Creates the template schema and generates its code into a directory. */
    static void generate(Connection connection, Path directory) throws Exception {
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE SCHEMA %s;".formatted(TEMPLATE_SCHEMA) + PhotoTables.tablesIn(TEMPLATE_SCHEMA));
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
