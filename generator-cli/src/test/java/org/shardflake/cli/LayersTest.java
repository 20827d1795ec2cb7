/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** The direction of the modules and of the packages in them. */
class LayersTest {

    private static final String[] VALUES = {"org.shardflake", "org.shardflake.jackson..", "org.shardflake.jpa.."};
    private static final String[] ROUTER = {
        "org.shardflake.catalog..",
        "org.shardflake.server..",
        "org.shardflake.router..",
        "org.shardflake.jooq..",
        "org.shardflake.micrometer..",
        "org.shardflake.yaml.."
    };
    private static final String[] OPERATIONS = {
        "org.shardflake.adopt..",
        "org.shardflake.compare..",
        "org.shardflake.deploy..",
        "org.shardflake.doctor..",
        "org.shardflake.gateway..",
        "org.shardflake.install..",
        "org.shardflake.jdbc..",
        "org.shardflake.load..",
        "org.shardflake.lookup..",
        "org.shardflake.move..",
        "org.shardflake.rebalance..",
        "org.shardflake.reference..",
        "org.shardflake.restore..",
        "org.shardflake.script..",
        "org.shardflake.watch.."
    };
    private static final String[] COMMAND_LINE = {"org.shardflake.cli.."};
    private static final String[] SQL = {"org.shardflake.sql.."};

    private static final JavaClasses MAIN = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .withImportOption(location -> !location.contains("-tests.jar"))
            .importPackages("org.shardflake");

    @Test
    void noPackagesDependOnEachOtherInACircle() {
        slices().matching("org.shardflake.(**)").should().beFreeOfCycles().check(MAIN);
    }

    @Test
    void idsKnowNothingElse() {
        refuses(VALUES, SQL, ROUTER, OPERATIONS, COMMAND_LINE);
    }

    @Test
    void theFunctionLibraryKnowsNothingElse() {
        refuses(SQL, VALUES, ROUTER, OPERATIONS, COMMAND_LINE);
    }

    @Test
    void theRouterKnowsIdsOnly() {
        refuses(ROUTER, SQL, OPERATIONS, COMMAND_LINE);
    }

    @Test
    void operationsKnowNothingOfTheCommandLine() {
        refuses(OPERATIONS, COMMAND_LINE, new String[] {"picocli..", "org.shardflake.cluster.."});
    }

    @Test
    void onlyCommandsParseTheCommandLine() {
        noClasses()
                .that()
                .resideInAPackage("org.shardflake..")
                .and()
                .resideOutsideOfPackages("org.shardflake.cli", "org.shardflake.cli.command")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("picocli..", "org.shardflake.cli.command")
                .check(MAIN);
    }

    private static void refuses(String[] users, String[]... used) {
        for (String[] packages : used) {
            noClasses()
                    .that()
                    .resideInAnyPackage(users)
                    .should()
                    .dependOnClassesThat()
                    .resideInAnyPackage(packages)
                    .check(MAIN);
        }
    }
}
